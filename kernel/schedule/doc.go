// Package schedule is the scheduler as two pure functions: [Decide] returns the commands that are due in a state,
// [Apply] returns the state after an event.
//
// Neither has a clock, randomness, goroutines, files or map order: times and ids arrive inside events. A runtime
// commits the event of a command, performs its effect, reports the result as an event and applies it. A live run, a
// resume, a replay and a dry run are this same loop, fed from different sources.
//
// For an iteration loop, Decide's half is in loop.go, Apply's half in applyloop.go, and the handling of crashes in
// recover.go. node.go and session.go hold both halves of their subjects.
package schedule
