// Package verify checks a plugin's binary against the plugin protocol (docs/plugin-protocol.md). It
// starts the binary as the kernel would and observes the process from outside, so that it works for
// plugins in any language.
//
// [Run] tries each row of a table and returns a [Report]. A row passes, fails, or is not
// applicable, with a reason. The author's [Cases] describe how to provoke behaviour; without them
// no attempt and no action runs, and verifying costs nothing.
//
// `agent-pipelines plugins verify` prints the report; plugintest.Binary makes each row a subtest.
package verify
