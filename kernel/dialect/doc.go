// Package dialect defines the keys of pipeline.yaml, stage.yaml and config.yaml: for each map its keys, their
// types, choices, bounds and descriptions.
//
// Packages compile and settings read the files and use the tables for keys and choices; the meaning of the values
// is theirs. The same tables yield the JSON Schemas for editors ([Object.Schema]) and the reference ([Page]). A
// test of package settings compares schemas and readers. Start with [Object] and [Pipeline].
package dialect
