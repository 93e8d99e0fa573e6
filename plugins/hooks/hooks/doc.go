// Package hooks holds three hook actions and a provider:
//
//   - [Webhook] (webhook) sends what happened to a service; its answer becomes context for the agents;
//   - [Script] (script) runs a command of the user in the project; what it prints becomes context;
//   - [Check] (check) measures something, a file, a command or its tests, and answers with facts;
//   - [Wrapped] (command) is the provider of nodes that wrap a command: inputs on stdin, outputs on stdout.
//
// Each action reads its own keys of the hook strictly. One that takes longer than the hook's timeout ends what
// it started and answers with a failure of kind hook_timeout, every other trouble with hook_failed; what
// the run makes of them is the kernel's business. None keeps state between calls.
//
// Commands of actions are run in one place (command.go). What test runners report is read by one file for each
// format: gotest.go, junit.go, tap.go; report.go holds what they have in common.
package hooks
