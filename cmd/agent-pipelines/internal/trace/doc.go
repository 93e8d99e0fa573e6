// Package trace makes the spans of a run from the events of its journal. It is a fold: the same events give the same
// spans, with the same ids, whoever reads them and whenever, so that a run that was killed goes on in its own trace.
// It exports nothing; package telemetry does.
//
// What is open when a session comes to rest (paused, failed, completed, aborted) ends there; a session that goes on
// later does so in new spans of the same trace, each with a link to the one before. A crash is no rest: what the dead
// kernel had under way ends with its last event, in error, and all around it stays open until it ends.
//
// Start with [Builder]; take.go says what each event does to the spans, attributes.go what they are told by.
package trace
