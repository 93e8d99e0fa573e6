// Package state holds what is known of a session between two events: the fold of its journal.
//
// State is small (references instead of bodies, the last 20 decisions of a node) and JSON, so that a
// snapshot at any event boundary is the whole truth from which any runtime can go on. Only package
// schedule changes it, by applying events. The file state.json is a view made from it elsewhere.
// Start with [State], [Node] and [Loop].
package state
