// Package crashtest shows whether a pipeline comes to the same end however often its kernel is killed.
//
// [Read] takes down what a session came to: its files without times, ids and durations, and the events that a run has
// once however often it was cut off. [Outcome.Diff] says what differs between two of them. What is left out and why is in
// two tables: files.go for files, events.go for events.
//
// [Trials] is the whole of it, for whatever command line starts a session: copies of the project, undisturbed runs, kills
// at moments that can be repeated, resumes, a [Report]. What users see of it: docs/crash-testing.md.
//
// It runs no pipeline in this process and judges no content: what an agent wrote is compared as it is, and two sessions
// are equal only if their agents said the same, as the mock provider does.
package crashtest
