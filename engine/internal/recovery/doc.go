// Package recovery rebuilds a session's state from the files of its directory where the journal alone is not enough:
// for sessions of the Bash engine, whose events have no numbers, and for own sessions with a damaged journal.
//
// It ranks three sources. For an own journal with missing lines, the scheduler's state in state.json counts if it is
// past the gap; else the readable lines, if the lines after the gap show that it holds no transition. For a session
// of the Bash engine its events count, completed by state.json. Without a certain source the result says so
// ([Result.Doubt]), and is a proposal for the user.
//
// It writes nothing. Start with [Read] and [SessionFiles.Restore].
package recovery
