// Package hook calls the hooks of a run: it evaluates a hook's condition, calls its action, and returns an event with
// the answer. The package implements pause and confirm itself. Callbacks are functions of the program that embeds the
// engine. Plugins and this program provide all other actions.
//
// The checks of a node's contract are run in package outcome, although plugins provide their actions, too.
//
// Package schedule decides how the run continues after the event. Start with [Caller.Call].
package hook
