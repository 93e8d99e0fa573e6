// Package firing holds the parts that the hook actions share for one firing of a hook: time limits, answers, commands,
// and the text that becomes context.
//
// Start with [Runner.Run] for commands, and with [ContextAnswer] for answers. The package keeps no state between
// firings.
package firing
