// Package author implements the verbs for authors of pipelines: init, lint, stages, pipelines, dry-run, graph, crashtest
// and schema.
package author
