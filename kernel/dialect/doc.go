// Package dialect defines the keys of pipeline.yaml, stage.yaml and config.yaml: for each map its keys, their
// types, choices, bounds and descriptions.
//
// Packages compile and settings read the files and use the tables for keys and choices; the meaning of the values
// is theirs. Package reference of the engine renders the tables for authors. Start with [Object] and [Pipeline].
package dialect
