// Package settings reads the two files of settings, the project's .claude/config.yaml and the user's own config.yaml,
// and merges them.
//
// Both have one format, which [ConfigTable] describes. An unknown key is an error, because an ignored key would look like
// one that works: every fault is reported at once, with line and column. The project's file came with the repository:
// settings that could name programs to run are left out of it unless the user trusts the project. The content of a
// provider's config is the provider's business. Start with [Read], [ReadProject] and [Layers]; docs/configuration.md
// explains each key.
package settings
