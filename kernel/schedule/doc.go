// Package schedule decides the next commands of a session: [Decide] returns the commands that are due in a state.
//
// Decide is pure, like [progress.Apply]: it has no clock, randomness, goroutines, files or map order. A runtime commits
// the event of a command, performs its effect, reports the result as an event and applies it. A live run, a resume, a
// replay and a dry run all do this, with events from different sources. Start with decide.go; the other files decide
// about one subject each.
package schedule
