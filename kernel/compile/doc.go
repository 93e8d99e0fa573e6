// Package compile turns the YAML of a pipeline, or of one stage, into a plan.
//
// It reads the pipeline file, the pipelines and the stage.yaml files that it names, and checks that their prompts
// exist. It writes nothing, starts nothing, and reads no environment and no clock. All faults of all files are
// reported at once, each with file, line and column ([yamldoc.Diagnostics]); warnings are returned with the plan.
// docs/pipelines.md explains each key.
//
// Start with [Pipeline], and [Stage] for a stage that runs alone. Package sources finds the files and reads their
// maps, package dialect has the table of all keys, package yamldoc parses YAML.
package compile
