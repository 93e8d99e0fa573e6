// Package cli holds the parts that all verbs share: the console, the global flags, the engine's options, errors, exit
// codes and JSON documents. It implements no verb. Start with [App].
package cli
