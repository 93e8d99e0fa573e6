// Package settings reads the two files of settings, the project's .claude/config.yaml and the user's own
// config.yaml, and says what holds where they disagree.
//
// Both have one format and are read as strictly as they can be, since a key that is passed over in
// silence looks like one that works: every fault is reported at once, with line and column. Whose word
// a file is decides what counts of it: the project's came with the repository, and what could name
// programs to be run is left out of it unless the user trusts the project. What a provider's config may
// hold is the provider's business. Start with [Read], [ReadProject] and [Layers]; docs/configuration.md
// says what each key means.
package settings
