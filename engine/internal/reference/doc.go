// Package reference renders the tables of keys in packages dialect and settings for authors: the JSON Schemas for
// editors and the page with every key. It reads no pipeline.
//
// [Schema] accepts what packages compile and settings accept; a test of package settings compares them. Start with
// [Files] and [Schema].
package reference
