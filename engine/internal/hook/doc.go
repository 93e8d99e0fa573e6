// Package hook calls the hooks of a run: it asks whether a hook's condition holds, hands the moment to its
// action, and makes an event of what came of it. pause and confirm are its own; callbacks are functions of the
// program that embeds the engine; every other action is a plugin's.
//
// How the run goes on is not decided here: the event says what the hook answered, and package schedule what
// that means. Start with [Caller.Call].
package hook
