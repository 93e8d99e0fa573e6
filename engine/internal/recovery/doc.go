// Package recovery makes a session's state from what lies in its directory where the journal alone does
// not give it: sessions of the Bash engine, whose events carry no numbers, and sessions of ours whose
// journal is damaged.
//
// It knows three sources and their ranks. Of a journal of ours with missing lines, the scheduler's state
// in state.json counts if it is past the gap; else the readable lines, if what follows the gap shows that
// no transition was lost in it. Of a session of the Bash engine its events count, completed by state.json.
// Where none of that is sure the result says so ([Result.Doubt]), and is a proposal for a person.
//
// Nothing here writes. Start with [Read] and [Found.Restore].
package recovery
