// Package authoring lists, checks and describes the pipelines, stages, settings and providers of a project. It runs
// none of them and takes no lock.
//
// Start with [Project], which [engine.Engine.Authoring] returns.
//
// [engine.Engine.Authoring]: https://pkg.go.dev/github.com/dodo-digital/agent-pipelines/engine#Engine.Authoring
package authoring
