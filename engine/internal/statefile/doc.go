// Package statefile keeps state.json, a session's state for users, scripts and the Bash engine's tools: Bash's members
// first, with Bash's meaning, then this engine's own. The file is derived from the journal: it can be deleted and
// rebuilt, and no decision of a running kernel reads it.
//
// In the same directory, questions/ has a derived file for every question to the user ([Question]).
//
// [Writer] writes state.json while a session runs; [Read] and [ReadHead] read the file of either engine. The package
// also keeps the project's list of finished loops ([RecordCompletion]). The shape of the files is described in
// docs/run-files.md.
package statefile
