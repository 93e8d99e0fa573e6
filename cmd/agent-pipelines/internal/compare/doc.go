// Package compare compares two sessions: status, plan, inputs, visits, nodes, outputs and artifacts.
//
// A [Snapshot] collects the entries of a session's timeline and its inspection; [Diff] compares two of them. Values
// that differ in any two runs are left out: times, ids, the sessions' names. The effort (attempts, tokens, cost, time)
// is reported and never counts as a difference. The package keeps a bounded part of a session and counts the omitted
// entries. It opens no file and prints nothing.
package compare
