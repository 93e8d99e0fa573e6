// Package library holds the stages and pipelines that the command ships. A stage is stages/<name>/stage.yaml with
// prompt.md and, if it makes an artifact, its schema.yaml. A pipeline is pipelines/<name>.yaml.
//
// These files are like the stages and pipelines of any project; a project's own file of the same name takes
// precedence. Nothing here is code: to change what a stage does, change its files. docs/agent-loop.md and docs/delivery.md
// explain them.
package library
