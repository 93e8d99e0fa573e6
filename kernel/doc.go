// Package kernel is the loop that drives a session: it asks schedule.Decide for the due commands, commits each
// command's event, performs the effect, and applies the resulting event.
//
// Start with [Run]: it returns when the session has ended or paused and the goroutines of all effects have ended. The
// package uses neither files nor plugins directly, but through the interfaces [Journal] and [Effects].
package kernel
