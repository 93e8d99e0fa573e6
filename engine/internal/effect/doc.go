// Package effect holds the shared parts of all effects of a run: their environment, the request of an effect, and
// its events and failures.
//
// It performs no effect; the packages attempt, hook, termination, outcome and steps do. Start with [Env] and
// [Effect].
package effect
