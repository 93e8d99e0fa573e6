// Package approval says what becomes of a tool call that a provider asks about: by what no policy can allow, by the
// node's policy.approvals, and by what a person answers.
//
// It is a few pure functions: who asks the person, and what is journaled, is package attempt's. Start with [Of].
package approval
