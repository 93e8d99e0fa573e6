// Package crashtest checks that a pipeline has the same outcome however often its kernel is killed.
//
// [Read] reads a session's outcome: its files without times, ids and durations, and the events that do not depend on
// crashes. [Outcome.Diff] compares two outcomes. The tables in files.go and events.go list the ignored data and the
// reasons.
//
// [Trials] runs the whole test for a command line: copies of the project, undisturbed runs, repeatable kills,
// resumes, and a [Report]. See docs/crash-testing.md.
//
// Package crashtest runs no pipeline in its own process. Agents' output is compared literally, so that agents must
// be deterministic, as the mock provider is.
package crashtest
