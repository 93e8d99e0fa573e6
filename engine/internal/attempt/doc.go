// Package attempt performs one attempt of an iteration from its inputs and prompt over the call of the provider to its
// output, its result and the event that ends it.
//
// It does not decide the next command: retries, backoff and failure belong to the scheduler. Start with [Runner.Run].
package attempt
