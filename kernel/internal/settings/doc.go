// Package settings reads the user's own config.yaml and finds out which provider each of its entries is
// meant for.
//
// The file is the user's word: nothing of it comes from the project that is worked on, and none of it
// goes into a plan or a journal. It is read as strictly as it can be, since a key that is passed over
// in silence looks like one that works: every fault is reported at once, with line and column. What a
// provider's config may hold is the provider's business. Start with [Read]; docs/configuration.md says
// what each key means.
package settings
