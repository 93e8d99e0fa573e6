// Package author has the verbs for authors of pipelines: init, lint, stages, pipelines, dry-run, graph, crashtest, schema.
package author
