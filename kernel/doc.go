// Package kernel is the loop that gives the scheduler a world: it asks schedule.Decide what is due,
// commits each command's event, performs the effect, and applies what comes back.
//
// It owns the goroutines of the effects and returns when none is left and the session has ended or
// paused. It knows neither files nor plugins: those are behind [Journal] and [Effects]. Start with
// [Run].
package kernel
