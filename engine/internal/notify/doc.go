// Package notify tells people outside that a session waits for them, or how its run has ended, by calling the hook
// actions that the user's settings name under notify.
//
// It watches a run and takes no part in it: nothing waits for a call but the end of the run, no answer has an effect,
// and what goes wrong is a warning. What there is to tell is decided by a pure function, [Told]; start with it and
// with [Notifier].
package notify
