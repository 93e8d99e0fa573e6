// Package dialect defines the keys of pipeline.yaml and stage.yaml: for each map its keys, their types, choices,
// bounds and descriptions.
//
// Packages sources and compile read the files by these tables and define the meaning of the values. Package settings
// of the engine describes config.yaml in the same way, and package reference renders all tables for authors. Start
// with [Object] and [Pipeline].
package dialect
