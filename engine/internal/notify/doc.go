// Package notify reports to users outside the terminal that a session waits for them, or how its run has ended. It
// calls the hook actions that the user's settings name under notify.
//
// It does not change the run: only the end of the run waits for calls, the answers of actions have no effect, and an
// error is only a warning. The pure function [Moments] returns the moments of an event. Start with it and [Notifier].
package notify
