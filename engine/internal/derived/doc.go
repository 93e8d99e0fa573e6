// Package derived derives the informational events that a session journals for its readers: budget warnings, faults of
// artifacts, phases, transitions and timeouts. The state does not depend on them.
//
// Start with [Fold].
package derived
