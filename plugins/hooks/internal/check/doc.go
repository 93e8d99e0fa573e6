// Package check is the hook action check: it measures files, a command or its tests and returns [Facts].
//
// Start with [Action.Run]. search.go measures files, command.go commands, testrun.go tests. Each report format of a
// test runner has a file of its own, such as gotest.go or junit.go; results.go holds the common part, report.go the
// list of formats.
package check
