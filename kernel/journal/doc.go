// Package journal reads and writes events.jsonl, the only record of a session. It only appends, but cuts off a failed
// write. [Replace] starts another file, for repair. Package progress folds the events into the state.
//
//   - An event that changes the state is on the disk when [Journal.Append] returns. Many appenders
//     share one write and one sync. Informative events are written with the next commit or within
//     the flush interval. No event is dropped; a full buffer blocks the caller.
//   - The order in the file is the order of the sequence numbers, without gaps.
//   - Two kernels cannot both write: [Journal.Begin], [Journal.Import] and [Journal.Start] open an epoch
//     under the file's lock, and a journal that finds a later epoch in the file fails with [ErrFenced].
//
// [Read] tolerates and reports damage by crashes, full disks and the Bash engine; [Follow]
// watches a session live. Start with [Open] and [Read].
package journal
