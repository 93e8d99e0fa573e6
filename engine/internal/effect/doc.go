// Package effect holds what all effects of a run share: their environment, the request of one, and the events and
// failures about it.
//
// It performs none; the packages attempt, hook, termination, outcome and steps do. Start with [Env] and [Effect].
package effect
