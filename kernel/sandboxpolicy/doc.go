// Package sandboxpolicy decides how a component is confined. It reads the key sandbox, combines the requests of
// the user and of the pipeline's author, and resolves their paths. It confines nothing: the engine does.
//
// Start with [Read], [Requests] and [Resolver]; docs/isolation.md describes the isolation.
package sandboxpolicy
