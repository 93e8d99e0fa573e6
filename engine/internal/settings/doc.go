// Package settings reads the two files of settings, the project's .claude/config.yaml and the user's own config.yaml,
// and merges them.
//
// Both files have the same format, which [ConfigTable] describes. An unknown key is an error, because an ignored key
// would look like a working key. All faults are reported at once, with line and column. The project's file comes with
// the repository: its settings that could name programs to run count only if the user trusts the project. Only the
// provider defines the content of its config. Start with [Read], [ReadProject] and [Layers]; docs/configuration.md
// explains each key.
package settings
