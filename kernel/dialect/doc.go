// Package dialect defines the keys of pipeline.yaml and stage.yaml: for each map its keys, their types, choices,
// bounds and descriptions.
//
// Package compile reads the files and uses the tables for keys and choices; the meaning of the values is its own.
// Package settings of the engine describes config.yaml in the same way, and package reference renders all tables for
// authors. Start with [Object] and [Pipeline].
package dialect
