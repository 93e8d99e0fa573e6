// Package mock holds a provider, a termination strategy and a hook action, all named mock, that behave as configured.
// They are ordinary components for tests and demonstrations of pipelines: the configuration can request every reply,
// delay, failure and crash of a real component. The same request always gets the same reply, unless the reply limits
// its uses (times).
//
// Start with [Plugin], or with [NewProvider], [NewStrategy] and [NewAction], which an embedding program or a test may
// register directly. The README of this package and the JSON Schemas of the components document the configuration.
//
// The provider writes the files of an agent, at the paths of the request: result or status, artifact and progress. It
// also writes the configured files (record, count_file, pid_file). It removes no files and does not end the processes
// that it spawns.
package mock
