// Package sandboxpolicy defines how a component is confined. It reads the key sandbox and resolves granted paths. The
// engine combines the requests of the user and of the pipeline's author, and confines the processes.
//
// Start with [Read], [Policy] and [Resolver]; docs/isolation.md describes the isolation.
package sandboxpolicy
