// Package statefile keeps state.json, the picture of a session for people, scripts and the Bash engine's
// tools: Bash's members first and with Bash's meaning, then ours. It is a view: it can be thrown away
// and made again from the journal, and no decision of a running kernel is read from it.
//
// Beside it, questions/ has a file for every question to a person ([Question]), a view too.
//
// [Writer] writes it while a session runs, [Read] and [Heads] read it, ours or the Bash engine's. The
// package also keeps the project's list of finished loops ([RecordCompletion]). The shape of the files
// is described in docs/run-files.md.
package statefile
