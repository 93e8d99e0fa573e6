// Package compile turns the YAML of a pipeline, or of one stage, into a plan.
//
// It reads the pipeline file, the stage.yaml of each stage that the pipeline names, and looks whether
// their prompts exist; it writes nothing, starts nothing, reads no environment and no clock. All
// faults of all files are reported at once, each with file, line and column ([diagnostic.List]); warnings
// come back beside the plan. What each key means is written in docs/pipelines.md.
//
// Start with [Pipeline], [Stage] for a bare loop, and [Roots] for where things are looked up. Inside,
// package yamltree reads YAML, a mapping reads the keys of one map, and one file stands for each part
// of the dialect: termination, provider, inputs, policy, prompt.
package compile
