// Package fold folds a session's journal to its state and finds the faults of the journal: places where an event is
// missing or wrong. Start with [New]: package session resumes a session with a [Fold]. Package recovery restores the
// state of a journal with faults; it uses [Replay], so that both judge a line alike.
package fold
