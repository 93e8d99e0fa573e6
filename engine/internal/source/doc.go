// Package source compiles the plan of a new run and reads the run's input, from the options of the caller.
//
// It writes nothing until [RunInput.Store]. Start with [Start]; [New] also accepts a run that cannot begin.
package source
