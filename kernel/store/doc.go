// Package store makes every path of a session, reads and writes the files below it, and locks them.
// Other packages join no path elements: they ask for a name here and use it with a [Store].
//
// All access goes through [os.Root]: neither a symbolic link nor ".." in a stage's id, an agent's file
// or a repository can lead out of the project or the session. Names are relative to the store and use
// slashes, as in [event.Ref]; [Store.Abs] returns the absolute path.
//
// Start with [OpenProject], then [Project.Create] or [Project.Open] for a session's [Dir], and [NodeAt]
// for the directory of a node. docs/run-files.md lists the content and the writer of each file.
//
// [AcquireLock] makes one kernel at a time the owner of a session, [LockHolder] returns the owner, and [SweepLocks]
// removes the locks of dead processes. A lock is a file in .claude/locks, locked by flock. It holds the number of its
// process, as in the Bash engine, and the start time of that process.
package store
