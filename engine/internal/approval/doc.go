// Package approval decides on a tool call that a provider asks about: by the rules that no policy can change, by the
// node's policy.approvals, and by the user's answer.
//
// It holds pure functions; package exchange asks the user and writes the journal. Start with [Decide].
package approval
