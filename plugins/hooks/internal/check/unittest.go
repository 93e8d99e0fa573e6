package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// unittest reads what Python's unittest writes, which it does to stderr: the header of each failure, the closing lines of
// a run, and with -v the tests that passed. An error counts as failed, and so does a test that passed although it was
// expected to fail, as for unittest itself; one that was expected to fail and did is skipped.
type unittest struct {
	tally       results
	ranTests    int      // tests of the run that is being closed, as "Ran" says
	failedTests []string // tests of the run that failed, each once
	passedTests int      // tests of the run that -v says passed
	awaitsEnd   bool     // "Ran" was said, and not yet how it ended
	began       bool
}

var (
	unittestRan    = regexp.MustCompile(`^Ran (\d{1,8}) tests? in \d+\.\d+s$`)
	unittestEnd    = regexp.MustCompile(`^(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z=0-9, ]+)\))?$`)
	unittestCount  = regexp.MustCompile(`([a-z][a-z ]*)=(\d{1,8})`)
	unittestHeader = regexp.MustCompile(`^(FAIL|ERROR|UNEXPECTED SUCCESS): ([^\s(]+) \(([^()]+)\)`)
	unittestTest   = regexp.MustCompile(`^([^\s(]+) \(([^()]+)\)`)
	unittestOK     = regexp.MustCompile(`(?:^|\.\.\. )ok$`)
)

// fixtureMethods are what is set up and torn down around tests: their errors are not among the tests that ran.
var fixtureMethods = []string{"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"}

func beginsUnittest(line []byte) bool {
	said := firing.PlainText(line)
	return unittestRan.MatchString(said) || unittestHeader.MatchString(said) || unittestTest.MatchString(said) && strings.Contains(said, " ... ")
}

func (u *unittest) readLine(line []byte) []byte {
	said := firing.PlainText(line)
	switch {
	case u.awaitsEnd && unittestEnd.MatchString(said):
		u.closeRun(unittestEnd.FindStringSubmatch(said)[1])
	case unittestRan.MatchString(said):
		u.ranTests, _ = strconv.Atoi(unittestRan.FindStringSubmatch(said)[1]) // digits
		u.awaitsEnd, u.began = true, true
	case unittestHeader.MatchString(said):
		u.addFailure(unittestHeader.FindStringSubmatch(said))
	case unittestTest.MatchString(said) && unittestOK.MatchString(said):
		m := unittestTest.FindStringSubmatch(said)
		u.passedTests++
		u.tally.passedNames.add(fullTestName(m[1], m[2]))
	}
	return line
}

// addFailure takes the header of a failure. Those of subtests have the name of their test.
func (u *unittest) addFailure(header []string) {
	method, name := header[2], fullTestName(header[2], header[3])
	u.tally.failedNames.add(name)
	if expected := header[1] != "UNEXPECTED SUCCESS"; expected && !slices.Contains(fixtureMethods, method) && !slices.Contains(u.failedTests, name) {
		u.failedTests = append(u.failedTests, name)
	}
}

// fullTestName is a test as the command line takes it: since Python 3.11 the brackets have all of it.
func fullTestName(method, in string) string {
	if strings.HasSuffix(in, "."+method) {
		return in
	}
	return in + "." + method
}

// closeRun takes the last line of a run: "FAILED (failures=1, errors=2, skipped=3)".
func (u *unittest) closeRun(counts string) {
	of := map[string]int{}
	for _, m := range unittestCount.FindAllStringSubmatch(counts, -1) {
		n, _ := strconv.Atoi(m[2]) // digits
		of[m[1]] += n
	}
	skipped := of["skipped"] + of["expected failures"]
	u.tally.failed += of["failures"] + of["errors"] + of["unexpected successes"]
	u.tally.skipped += skipped
	u.tally.passed += max(u.passedTests, u.ranTests-len(u.failedTests)-skipped-of["unexpected successes"], 0)
	u.ranTests, u.failedTests, u.passedTests, u.awaitsEnd = 0, nil, 0, false
}

// results: a report that ends in the middle has failed.
func (u *unittest) results() (results, error) {
	if len(u.failedTests) > 0 || u.passedTests > 0 || u.awaitsEnd {
		u.tally.passed += u.passedTests
		u.tally.addMoreFailed("", max(1, len(u.failedTests)))
	}
	return u.tally, nil
}
