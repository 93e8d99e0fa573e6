// Package diagnostic holds what is wrong with the YAML files of people, each fault with its file, line,
// column and code, and reads those files so that nothing is passed over.
//
// Package compile reads pipelines and stages with it, package settings the user's config.yaml. What the
// keys mean is theirs. Start with [Document], which collects, and [List], which is the error.
package diagnostic
