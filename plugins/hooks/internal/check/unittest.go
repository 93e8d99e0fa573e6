package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// unittest reads the output of Python's unittest, which it writes to stderr: the header of each failure, the closing
// lines of a run, and with -v the passed tests. Errors and unexpected successes count as failed, as in unittest itself;
// expected failures count as skipped.
type unittest struct {
	tally       results
	ranTests    int      // tests of the run, by its line "Ran"
	failedTests []string // distinct failed tests of the run
	passedTests int      // passed tests of the run, by -v
	running     string   // the test of -v whose result follows on a later line, after its docstring or its own output
	awaitsEnd   bool     // between the line "Ran" and the result
	began       bool
}

var (
	unittestRan    = regexp.MustCompile(`^Ran (\d{1,8}) tests? in \d+\.\d+s$`)
	unittestEnd    = regexp.MustCompile(`^(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z=0-9, ]+)\))?$`)
	unittestCount  = regexp.MustCompile(`([a-z][a-z ]*)=(\d{1,8})`)
	unittestHeader = regexp.MustCompile(`^(FAIL|ERROR|UNEXPECTED SUCCESS): ([^\s(]+) \(([^()]+)\)`)
	unittestTest   = regexp.MustCompile(`^([^\s(]+) \(([^()]+)\)`)
	unittestSkip   = regexp.MustCompile(`(?:^|\.\.\. )(?:skipped .*|expected failure)$`)
	unittestBad    = regexp.MustCompile(`(?:^|\.\.\. )(?:FAIL|ERROR|unexpected success)$`)
	unittestOK     = regexp.MustCompile(`(?:^|\.\.\. )ok$`)
)

// fixtureMethods set up and tear down tests; their errors are not part of the number of tests.
var fixtureMethods = []string{"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"}

func beginsUnittest(line []byte) bool {
	text := firing.PlainText(line)
	return unittestRan.MatchString(text) || unittestHeader.MatchString(text) || unittestTest.MatchString(text) && strings.Contains(text, " ... ")
}

func (u *unittest) readLine(line []byte) []byte {
	text := firing.PlainText(line)
	switch {
	case u.awaitsEnd && unittestEnd.MatchString(text):
		u.closeRun(unittestEnd.FindStringSubmatch(text)[1])
	case unittestRan.MatchString(text):
		u.ranTests = parseDigits(unittestRan.FindStringSubmatch(text)[1])
		u.awaitsEnd, u.began = true, true
	case unittestHeader.MatchString(text):
		u.addFailure(unittestHeader.FindStringSubmatch(text))
	default:
		u.readVerbose(text)
	}
	return line
}

// readVerbose reads a line of -v.
func (u *unittest) readVerbose(text string) {
	if m := unittestTest.FindStringSubmatch(text); m != nil && (u.running == "" || strings.Contains(text, " ... ")) {
		u.running = fullTestName(m[1], m[2])
	}
	switch {
	case u.running == "":
	case unittestBad.MatchString(text): // its header follows
		u.running = ""
	case unittestOK.MatchString(text):
		u.passedTests++
		u.tally.namePassed(u.running)
		u.running = ""
	case unittestSkip.MatchString(text):
		u.tally.name(u.running, statusSkipped)
		u.running = ""
	}
}

// addFailure reads the header of a failure. A subtest has the name of its test.
func (u *unittest) addFailure(header []string) {
	method, name := header[2], fullTestName(header[2], header[3])
	u.tally.nameFailed(name)
	if expected := header[1] != "UNEXPECTED SUCCESS"; expected && !slices.Contains(fixtureMethods, method) && !slices.Contains(u.failedTests, name) {
		u.failedTests = append(u.failedTests, name)
	}
}

// fullTestName returns the name of a test as unittest's command line accepts it. Since Python 3.11 the brackets contain
// the full name.
func fullTestName(method, class string) string {
	if strings.HasSuffix(class, "."+method) {
		return class
	}
	return class + "." + method
}

// closeRun reads the last line of a run, such as "FAILED (failures=1, errors=2, skipped=3)".
func (u *unittest) closeRun(counts string) {
	numbers := map[string]int{}
	for _, m := range unittestCount.FindAllStringSubmatch(counts, -1) {
		numbers[m[1]] += parseDigits(m[2])
	}
	skipped := numbers["skipped"] + numbers["expected failures"]
	u.tally.failed += numbers["failures"] + numbers["errors"] + numbers["unexpected successes"]
	u.tally.skipped += skipped
	u.tally.passed += max(u.passedTests, u.ranTests-len(u.failedTests)-skipped-numbers["unexpected successes"], 0)
	u.ranTests, u.failedTests, u.passedTests, u.running, u.awaitsEnd = 0, nil, 0, "", false
}

// results counts an incomplete report as failed.
func (u *unittest) results() (results, error) {
	if len(u.failedTests) > 0 || u.passedTests > 0 || u.awaitsEnd {
		u.tally.passed += u.passedTests
		u.tally.addMoreFailed("", max(1, len(u.failedTests)))
	}
	return u.tally, nil
}
