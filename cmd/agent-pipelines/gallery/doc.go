// Package gallery has the examples that `init --example` writes: small pipelines, each of which shows one shape, with comments
// that explain it and the mock's answers for a run without a model. Every directory is an example. The table in gallery.go is
// the one list of them; a test runs each to its end. Start at [Examples].
package gallery
