// Package reference renders the tables of keys in packages dialect and settings for authors: the JSON Schemas for
// editors, and in its test the page with every key, docs/reference.md. It reads no pipeline.
//
// A [Schema] accepts the documents that packages compile and settings accept; a test of package settings verifies
// this. Start with [Files] and [Schema].
package reference
