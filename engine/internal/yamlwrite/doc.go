// Package yamlwrite writes YAML: it renders values, and sets the value of a key in a document whose other values and
// comments stay. Package yamldoc of the kernel reads YAML; only these two packages import a YAML library.
//
// Start with [Render] and [Set].
package yamlwrite
