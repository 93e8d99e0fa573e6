// Package progress applies events to the state of a session: [Apply] returns the state after an event.
//
// It is pure: it has no clock, randomness, goroutines, files or map order; times and ids arrive inside events. The
// exported functions beside Apply answer the questions about plan and state that package schedule has, too: the
// outcome of a node, the rest of a budget, the guardrails that bound a location. Start with apply.go; each other file
// has the events of one subject.
package progress
