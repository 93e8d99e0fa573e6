// Package past extends a session without running it: it turns a real session that was interrupted
// in its third iteration into one that was interrupted much later. Start with [Give].
//
// It writes the journal as the engine would, with all keys, times and paths of results. It writes
// no files for the added iterations, because a million events would need 1.7 million files. The
// engine rebuilds state.json from the journal.
package past
