// Package cli is one invocation of the command: its console and flags, the engine that it opens, errors, exit codes and
// documents. It knows no verb. Start with [App].
package cli
