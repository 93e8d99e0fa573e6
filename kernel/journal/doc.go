// Package journal reads and writes events.jsonl, the truth about a session. It appends and never
// rewrites; state is a fold over what is read (package schedule).
//
// Three promises:
//
//   - An event that changes what happens next is on the disk when [Journal.Append] returns. Many
//     appenders share one write and one sync. Events that only inform ride with the next commit, or
//     are written within the flush interval. Nothing is dropped; a full buffer makes callers wait.
//   - The order of the file is the order of the sequence numbers, without gaps.
//   - Two kernels cannot both write: [Journal.Begin] and [Journal.Start] open an epoch under the
//     file's lock, and whoever finds a later epoch in the file than its own writes nothing any more
//     ([ErrFenced]).
//
// [Read] tolerates everything that crashes, full disks and the Bash engine leave behind and reports
// it; [Follow] is for watching a session live. Start with [Open] and [Read].
package journal
