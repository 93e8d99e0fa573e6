// Package kernel is the loop that drives a session: it asks schedule.Decide for the due commands, commits each
// command's event, performs the effect, and applies the resulting event.
//
// It owns the goroutines of the effects and returns when none is left and the session has ended or paused. It uses
// neither files nor plugins directly: these are behind [Journal] and [Effects]. Start with [Run].
package kernel
