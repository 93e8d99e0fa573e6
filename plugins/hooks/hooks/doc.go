// Package hooks is the plugin agent-plugin-hooks. It serves the hook actions webhook, script, check and deliver, each from its
// own package. It also serves the provider command, which runs the command that a node wraps.
//
// Each action refuses unknown keys of the hook. An action that exceeds the hook's timeout ends its processes and fails
// with kind hook_timeout. Other failures have kind hook_failed, signal_interrupt for a stopped run, or config_invalid.
// The kernel decides on the effect of a failure. No component keeps state between calls.
package hooks
