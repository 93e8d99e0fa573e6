// Package schedule is the scheduler as two pure functions: [Decide] says what is to be done in a
// state, [Apply] says what a state becomes by an event.
//
// There is no clock, randomness, goroutine, file or map order in either: times and ids arrive inside
// events. A runtime commits the event of a command, performs its effect, turns what happened into
// events and applies them; a live run, a resume, a replay and a dry run are the same loop fed from
// different places.
//
// Decide's half of an iteration loop stands in loop.go, Apply's in advance.go, and what a crash does
// to it in recover.go; node.go and session.go hold both halves of their subjects.
package schedule
