// Package attempt performs one attempt of an iteration. It collects the inputs, builds the prompt, calls the
// provider, stores output and result, and returns the event that ends the attempt.
//
// It does not decide the next command: retries, backoff and failure belong to the scheduler. Start with [Runner.Run].
package attempt
