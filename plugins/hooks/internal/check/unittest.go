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
	found  results
	ran    int      // tests of the run that is being closed, as "Ran" says
	broken []string // tests of the run that failed, each once
	ok     int      // tests of the run that -v says passed
	open   bool     // "Ran" was said, and not yet how it ended
	began  bool
}

var (
	unittestRan    = regexp.MustCompile(`^Ran (\d{1,8}) tests? in \d+\.\d+s$`)
	unittestEnd    = regexp.MustCompile(`^(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z=0-9, ]+)\))?$`)
	unittestCount  = regexp.MustCompile(`([a-z][a-z ]*)=(\d{1,8})`)
	unittestHeader = regexp.MustCompile(`^(FAIL|ERROR|UNEXPECTED SUCCESS): ([^\s(]+) \(([^()]+)\)`)
	unittestTest   = regexp.MustCompile(`^([^\s(]+) \(([^()]+)\)`)
	unittestOK     = regexp.MustCompile(`(?:^|\.\.\. )ok$`)
)

// fixtures are what is set up and torn down around tests: their errors are not among the tests that ran.
var fixtures = []string{"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"}

func beginsUnittest(line []byte) bool {
	said := firing.PlainText(line)
	return unittestRan.MatchString(said) || unittestHeader.MatchString(said) || unittestTest.MatchString(said) && strings.Contains(said, " ... ")
}

func (u *unittest) line(line []byte) []byte {
	said := firing.PlainText(line)
	switch {
	case u.open && unittestEnd.MatchString(said):
		u.close(unittestEnd.FindStringSubmatch(said)[1])
	case unittestRan.MatchString(said):
		u.ran, _ = strconv.Atoi(unittestRan.FindStringSubmatch(said)[1]) // digits
		u.open, u.began = true, true
	case unittestHeader.MatchString(said):
		u.fail(unittestHeader.FindStringSubmatch(said))
	case unittestTest.MatchString(said) && unittestOK.MatchString(said):
		m := unittestTest.FindStringSubmatch(said)
		u.ok++
		u.found.passes.add(testName(m[1], m[2]))
	}
	return line
}

// fail takes the header of a failure. Those of subtests have the name of their test.
func (u *unittest) fail(header []string) {
	method, name := header[2], testName(header[2], header[3])
	u.found.failures.add(name)
	if expected := header[1] != "UNEXPECTED SUCCESS"; expected && !slices.Contains(fixtures, method) && !slices.Contains(u.broken, name) {
		u.broken = append(u.broken, name)
	}
}

// testName is a test as the command line takes it: since Python 3.11 the brackets have all of it.
func testName(method, in string) string {
	if strings.HasSuffix(in, "."+method) {
		return in
	}
	return in + "." + method
}

// close takes the last line of a run: "FAILED (failures=1, errors=2, skipped=3)".
func (u *unittest) close(counts string) {
	of := map[string]int{}
	for _, m := range unittestCount.FindAllStringSubmatch(counts, -1) {
		n, _ := strconv.Atoi(m[2]) // digits
		of[m[1]] += n
	}
	skipped := of["skipped"] + of["expected failures"]
	u.found.failed += of["failures"] + of["errors"] + of["unexpected successes"]
	u.found.skipped += skipped
	u.found.passed += max(u.ok, u.ran-len(u.broken)-skipped-of["unexpected successes"], 0)
	u.ran, u.broken, u.ok, u.open = 0, nil, 0, false
}

// results: a report that ends in the middle has failed.
func (u *unittest) results() (results, error) {
	if len(u.broken) > 0 || u.ok > 0 || u.open {
		u.found.passed += u.ok
		u.found.failMore("", max(1, len(u.broken)))
	}
	return u.found, nil
}
