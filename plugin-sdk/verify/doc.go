// Package verify starts a plugin's binary as the kernel would and holds it to everything that the plugin
// protocol promises (docs/plugin-protocol.md). It looks at the process from outside, so that a plugin in
// any language is held to the same.
//
// [Run] tries each row of the table [Rows] and returns a [Report]. A row passes, fails, or is not
// applicable, which is always said with the reason and with what to give. Rows for which a component has
// to do something (answer a prompt, take long, do nothing) are told how by the author's [Cases]; without
// them no attempt is made and no action runs, so that verifying costs nothing.
//
// `agent-pipelines plugins verify` prints the report; plugintest.Binary makes each row a subtest.
// Package plugintest looks at the same demands from inside the author's own process.
package verify
