// Package webhook is the hook action webhook: it posts a firing to a URL, and the response becomes context for
// the agents.
//
// Start with [Action.Run]. Requests carry an idempotency key and, if configured, a signature; send.go holds retries and
// redirects, response.go the reading of the response.
package webhook
