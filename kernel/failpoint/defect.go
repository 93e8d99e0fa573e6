package failpoint

// The faults that a kernel built with the tag crashpoints can have, see [HasDefect].
const (
	// SkipCommit acts on events before they are written.
	SkipCommit = "skip-commit"
	// SkipSync writes the line that names a file before the file is on the disk.
	SkipSync = "skip-sync"
	// SkipDedupe repeats tool calls that were made before the crash.
	SkipDedupe = "skip-dedupe"
)
