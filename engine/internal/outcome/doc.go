// Package outcome holds what an agent did against the contract of its node, where that has one: it makes the checks
// ([Settler.Check]) and settles the outcome ([Settler.Settle]) by what was measured, by what the artifact says, and by
// what the agent says, in this order. Whatever the agent says, what was measured can only make the outcome worse.
//
// A check is a call of the hook action named check, which is a plugin's: nothing here measures anything itself. What an
// artifact is, package artifact knows. Start with [Settler].
package outcome
