// Package firing holds the parts that the hook actions share for one firing of a hook: the failures of its
// time limit, the answer, the running of commands, and the text that becomes context.
//
// Start with [Runner.Run] for commands, and with [ContextAnswer] for the rest. Nothing here keeps state
// between firings.
package firing
