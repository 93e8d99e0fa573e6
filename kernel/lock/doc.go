// Package lock lets one kernel at a time hold a session. The lock is the file
// .claude/locks/<session>.lock of the project: who holds it has locked the file (flock) and written
// its process into it, in the shape the Bash engine reads and writes.
//
// [Acquire] takes a session, [Lock.Release] frees it, [Holder] says who has it, and [Sweep] removes
// the locks of processes that died. A process is known by number and start time, so that a number
// in use again proves nothing.
package lock
