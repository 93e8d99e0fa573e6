// Package floor repeats the disk operations of a session without an engine: the same files and
// journal lines, renamed and synced in the same order. It makes no plan, no decision and no JSON.
//
// The time of a repetition is the lower bound for an iteration: the cost of the guarantees in docs/run-files.md. [Load]
// reads a session, [Start] begins to repeat it in another directory.
package floor
