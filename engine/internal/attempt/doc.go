// Package attempt makes one attempt of an iteration, door to door: inputs and prompt, the provider
// with its deadline, output and result, and the event that says how it ended.
//
// It does not decide what follows: retries, backoff and failure belong to the scheduler. Start with
// [Maker.Make].
package attempt
