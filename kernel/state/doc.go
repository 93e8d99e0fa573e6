// Package state holds the state of a session between two events: the fold of its journal.
//
// State is small (references instead of bodies, the last 20 decisions of a loop) and JSON. Any runtime can continue
// from a copy taken at an event boundary. Only package progress changes it, by applying events. Other packages write
// the file state.json from it. Start with [State], [Node] and [Loop].
package state
