// Package failpoint marks the moments at which the process may die without losing data. Each moment is a call of
// [Point] between two effects: on the disk, or on a plugin.
//
// In a normal build the package does nothing. With the build tag crashpoints the process kills itself at the point that
// the environment names, see armed in point_armed.go. It can also simulate a power loss, see diskState in
// power_armed.go. A test runs once with the log to list the points, then once for each of them.
package failpoint

// The faults that a kernel built with the tag crashpoints can have, see [HasDefect].
const (
	SkipCommit = "skip-commit" // acts on events before they are written
	SkipSync   = "skip-sync"   // writes the line that names a file before the file is on the disk
	SkipDedupe = "skip-dedupe" // repeats tool calls that were made before the crash
)
