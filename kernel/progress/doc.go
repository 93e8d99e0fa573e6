// Package progress applies events to the state of a session: [Apply] returns the state after an event.
//
// It is pure: it has no clock, randomness, goroutines or files, and no result depends on the order of a map. Times and
// ids arrive inside events. The other exported functions derive facts from plan and state that package schedule needs,
// too. Among them are the outcome of a node, the rest of a budget, and the guardrails that bound a location. Start
// with apply.go; each other file applies the events of one subject.
package progress
