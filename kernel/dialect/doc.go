// Package dialect is the one home of what may be written in pipeline.yaml, stage.yaml and config.yaml: each map, each key
// of it, what the key holds, in which words and bounds, and what it is for.
//
// Packages compile and settings read the files, and take their lists of keys and words from here; what a value comes to
// is theirs. Out of the same tables come the JSON Schemas for editors ([Schema]) and the reference ([Page]). A test of
// package compile holds schema and compiler against each other. Start with [Map] and [Pipeline].
package dialect
