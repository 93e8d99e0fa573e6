// Package library holds what the command ships: stages as stages/<name>/stage.yaml with prompt.md and, where they make an
// artifact, its schema.yaml; pipelines as pipelines/<name>.yaml.
//
// They are files like those of any project, read by the same compiler; a project's own of the same name go before them.
// Nothing here is code: to change what a stage does, change its files. docs/agent-loop.md and docs/delivery.md explain them.
package library
