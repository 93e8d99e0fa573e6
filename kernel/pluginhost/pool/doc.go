// Package pool keeps plugin processes: one for each [Key], started at the first call, shared by all
// calls with an equal key, stopped when it has been idle, started again with growing pauses when it
// fell, and given up for a while when it falls too often.
//
// A process that falls takes every call on it down. One of them is charged with it, the one that began
// last; the others fail with [ErrCollateral] and may be made again without using up a try. Since every
// fall is charged to somebody, retries come to an end.
//
// The pool knows nothing of plugins but the [Instance] interface.
package pool
