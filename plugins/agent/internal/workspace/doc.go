// Package workspace is the directory that an agent may touch, and the one answer to the question whether a path lies
// in it.
//
// Start with [Open] and [Dir.Resolve]. A path is looked at twice: as it is written ([Clean]), where everything is
// refused that some program may read as a way out, and on the disk, link by link. That look alone proves nothing,
// since links can change afterwards: who opens the file does so through [Dir.Root], which holds at the time of use.
//
// What it does not see: a hard link to a file that lies elsewhere too.
package workspace
