// Package outcome evaluates an iteration by its node's contract. It runs the checks ([Evaluator.Check]) and evaluates
// the outcome ([Evaluator.Evaluate]) from their measurements, the artifact and the agent's result. Measurements can only
// make the agent's own outcome worse.
//
// A check is a call of the hook action named check, which a plugin provides. Package artifact reads and writes
// artifacts. Start with [Evaluator].
package outcome
