package check

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// report reads the output of a test runner line by line. It is used for one run.
type report interface {
	// readLine takes a line with its newline and returns the part of it to show to the user.
	readLine(line []byte) []byte
	// results is called once, after the last line. An error means that the report cannot be read.
	results() (results, error)
}

// results are the counts of a report and its test names. A report may have no names, or more names than tests; the
// counts decide.
type results struct {
	passed, failed, skipped  int
	passedNames, failedNames nameList
	tests                    map[string]string // all names with their status; a test that ran twice has its worse one
}

// The statuses of tests.
const (
	statusPassed  = "passed"
	statusSkipped = "skipped"
	statusFailed  = "failed"
)

// add counts a test. One with another status than passed and failed counts as skipped.
func (r *results) add(name, status string) {
	switch status {
	case statusPassed:
		r.addPassed(name)
	case statusFailed:
		r.addFailed(name)
	default:
		r.addSkipped(name)
	}
}

// addPassed counts a passed test.
func (r *results) addPassed(name string) {
	r.passed++
	r.namePassed(name)
}

// addFailed counts a failed test.
func (r *results) addFailed(name string) {
	r.failed++
	r.nameFailed(name)
}

// addSkipped counts a skipped test.
func (r *results) addSkipped(name string) {
	r.skipped++
	r.name(name, statusSkipped)
}

func (r *results) namePassed(name string) {
	r.passedNames.add(name)
	r.name(name, statusPassed)
}

func (r *results) nameFailed(name string) {
	r.failedNames.add(name)
	r.name(name, statusFailed)
}

// sourceLine matches the line in the name of a Rust documentation test, which changes with the code above it.
var sourceLine = regexp.MustCompile(`^(\S+\.rs - .*) \(line \d+\)$`)

// name records the status of a test.
func (r *results) name(name, status string) {
	order := []string{"", statusPassed, statusSkipped, statusFailed}
	if name = sourceLine.ReplaceAllString(firing.PlainText([]byte(name)), "$1"); name == "" || slices.Index(order, r.tests[name]) >= slices.Index(order, status) {
		return
	}
	if r.tests == nil {
		r.tests = map[string]string{}
	}
	r.tests[name] = status
}

// addMoreFailed counts n failed tests with one name; n may be less than 1.
func (r *results) addMoreFailed(name string, n int) {
	if n > 0 {
		r.addFailed(name)
		r.failed += n - 1
	}
}

// hasTests reports whether any test was counted.
func (r *results) hasTests() bool { return r.passed+r.failed+r.skipped > 0 }

// nameList holds distinct test names up to a total length.
type nameList struct {
	names []string
	size  int // bytes of all names
}

func (n *nameList) add(name string) {
	if name = firing.PlainText([]byte(name)); len(name) > maxName {
		name = firing.TrimText([]byte(name[:maxName])) + "…"
	}
	if name == "" || slices.Contains(n.names, name) || n.size+len(name) > maxNames {
		return
	}
	n.names, n.size = append(n.names, name), n.size+len(name)
}

// listFor returns the names for count tests, followed by the number of unnamed tests.
func (n *nameList) listFor(count int) []string {
	switch more := count - len(n.names); {
	case count == 0:
		return nil
	case more < 0:
		return n.names[:count]
	case more > 0 && len(n.names) > 0:
		return append(slices.Clone(n.names), fmt.Sprintf("and %d more", more))
	default:
		return n.names
	}
}

const (
	maxNames = 2 << 10 // bytes of all names
	maxName  = 200     // bytes of one name
)

// Facts is the measurement of a check, the JSON of [sdk.HookAnswer.Facts]. It stays below about 10 KiB
// without Tests.
type Facts struct {
	Type   string `json:"type"`
	Passed bool   `json:"passed"`
	// Reason is the reason of a check that did not pass, in one line; "" if it passed.
	Reason string `json:"reason,omitempty"`
	// ExitCode is the exit code of the command, -1 if a signal ended it; nil without a command.
	ExitCode   *int  `json:"exit_code,omitempty"`
	DurationMS int64 `json:"duration_ms"`
	// Counts holds the matching files (file, content), the warnings (command with max_warnings), or the passed,
	// failed and skipped tests (tests).
	Counts map[string]int `json:"counts,omitempty"`
	// Failed and PassedTests are the names of failed and passed tests: the first names, then the number of the remaining
	// names. They are empty if the report has no names.
	Failed      []string `json:"failed,omitempty"`
	PassedTests []string `json:"passed_tests,omitempty"`
	// Tests are all tests by name, each with its status: passed, failed or skipped. Nil unless names is set.
	Tests map[string]string `json:"tests,omitempty"`
	// Evidence has the member code, that of a cheat, if the report is refused. Else it is nil.
	Evidence map[string]string `json:"evidence,omitempty"`
	// Output is the end of the command's output, without colours.
	Output string `json:"output,omitempty"`
}

// defaultLimit is the time limit of a check whose hook sets no timeout.
const defaultLimit = 2 * time.Minute

// measureError returns the failure of a check that could not measure.
func measureError(format string, args ...any) *failure.Error {
	return failure.New(failure.HookFailed, "check: "+format, args...)
}
