// Package mock holds components that do what their configuration says: a provider, a termination
// strategy and a hook action, all named mock. They are real components for tests, trials and
// demonstrations of pipelines: every reply, delay, failure and crash that a true component may show
// can be written down, and the same request always gets the same reply.
//
// Start with [Plugin], which [main] serves, or with [NewProvider], [NewStrategy] and [NewAction], which
// an embedding program or a test may register directly. The configuration is documented in the README
// beside this package and in the JSON Schemas that the components declare.
//
// The provider plays the agent, so it writes what an agent writes: the result or status file and the
// progress file at the paths it was given. It also writes the files that its configuration names
// (record, count_file, pid_file). It cleans up nothing that it was told to leave behind.
//
// The package is meant to be copied by authors of plugins: one file holds the provider, one the
// strategy, one the action; the rest serves them.
//
// [main]: https://pkg.go.dev/github.com/dodo-digital/agent-pipelines/plugins/mock
package mock
