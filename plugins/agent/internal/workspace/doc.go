// Package workspace is the directory that an agent may use, and the only code that decides whether a path is inside it.
//
// Start with [Open] and [Dir.Resolve]. A path is checked twice: as text, which refuses everything that some
// program may read as a path to the outside, and on disk, link by link. Links can change after this check, so files must
// be opened through [Dir.Root], which enforces the limit at the time of use.
//
// The package does not detect hard links to files outside.
package workspace
