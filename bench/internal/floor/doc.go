// Package floor does what a session left on the disk once more and nothing else: the same files with the
// same bytes, renamed and synced where the engine renames and syncs, and the same lines of the journal
// with a write and an fdatasync for each commit. No plan, no decision, no JSON is made.
//
// It is the floor under an iteration: what the promises of docs/run-files.md cost by themselves.
// [Load] reads a session, [Start] begins to repeat it in another directory.
package floor
