// Package delivery compares how a run handed over its change with the git repository of the project: what a commit holds, and
// that nothing else was committed, moved or staged. It writes nothing, and after the start of a run it runs no program that the
// repository configures, such as a filter: an agent may have configured it.
//
// Start with [CheckStart] and [Read], which records the repository before the work; [Change.Judge] compares.
package delivery
