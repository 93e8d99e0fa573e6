// Package past gives a session a long past without running it: of a real session that was cut off in its third
// iteration it makes one that was cut off much later, by writing the journal that the engine would have written.
//
// The journal is whole: numbers without gaps, keys, places, times and the paths of results as the engine makes them.
// The iterations' own files are left out, all but those of the first two (an iteration has five, so a million events
// would come with 1.7 million files); so is state.json, which the engine makes again from the journal. Start with [Give].
package past
