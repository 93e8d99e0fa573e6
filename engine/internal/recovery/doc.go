// Package recovery rebuilds a session's state from the files of its directory where the journal alone is not enough:
// for sessions of the Bash engine, whose events have no numbers, and for sessions of this engine with a damaged
// journal.
//
// It ranks three sources. For a journal of this engine with missing lines, the scheduler's state in state.json counts
// if it is later than the gap. Otherwise the readable lines count, if the lines after the gap show that no transition
// is missing. For a session of the Bash engine its events count, completed by state.json. If no source is certain, the
// result says so ([Result.Doubt]) and is a proposal for the user.
//
// It writes nothing. Start with [Read] and [SessionFiles.Restore].
package recovery
