// Package schedule is the scheduler as two pure functions: [Decide] says what is to be done in a
// state, [Apply] says what a state becomes by an event.
//
// There is no clock, randomness, goroutine, file or map order in either: times and ids arrive inside
// events. A runtime commits the event of a command, performs its effect, turns what happened into
// events and applies them; a live run, a resume, a replay and a dry run are the same loop fed from
// different places. The rules of one iteration loop stand in loop.go, those of a node and of the
// session in node.go and session.go, each with Decide's half above Apply's.
package schedule
