// Package notify reports to users outside the terminal that a session waits for them, or how its run has ended. It
// calls the hook actions that the user's settings name under notify.
//
// It watches a run and takes no part in it: only the end of the run waits for a call, no answer has an effect, and an
// error is a warning. The pure function [Moments] returns the moments of an event; start with it and with [Notifier].
package notify
