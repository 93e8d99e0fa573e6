// Package firing holds the parts that the hook actions share for one firing of a hook: the time limit and its
// failures, the answer, the running of commands, and the text that becomes context.
//
// Start with [Runner.Run] for commands, and with [Limit] and [ContextAnswer] for the rest. Nothing here keeps state
// between firings.
package firing
