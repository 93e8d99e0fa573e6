// Package metrics tells from the events of a session what each visit of each node took and led to: time, iterations,
// attempts, retries, steps, checks, tokens and money. It is a view of the journal, for history, metrics and the events
// that inform of transitions; nothing that is decided reads it.
//
// Start with [Account.Take]. What a provider did not say is counted as unknown and never as 0.
package metrics
