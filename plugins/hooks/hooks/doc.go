// Package hooks is the plugin agent-plugin-hooks. It serves the hook actions webhook, script and check, each from
// its own package. It also serves the provider command, which runs the command of a node that wraps one.
//
// Each action reads its own keys of the hook strictly. An action that exceeds the hook's timeout ends its processes
// and fails with kind hook_timeout; other failures have kind hook_failed. The kernel decides on their effect. No
// component keeps state between calls.
package hooks
