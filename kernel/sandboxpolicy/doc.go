// Package sandboxpolicy finds out how a component is to be confined: it reads what YAML says of a sandbox,
// combines the words of the user and of the pipeline's author, and resolves the paths in them. It
// confines nothing; package sandbox does.
//
// Start with [Read], [Words] and [Places]; docs/isolation.md tells the whole story.
package sandboxpolicy
