package check

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// report reads what a test runner prints, line by line. It belongs to one run.
type report interface {
	// readLine takes a line with its newline and returns what of it is worth showing to a person.
	readLine(line []byte) []byte
	// results is called once, after the last line. Errors are about a report that cannot be read.
	results() (results, error)
}

// The formats. Each has a file of its own with its report.
const (
	formatAuto   = "auto"
	formatCargo  = "cargo"
	formatGo     = "go"
	formatJUnit  = "junit"
	formatNode   = "node"
	formatPytest = "pytest"
	formatTAP    = "tap"

	formatUnittest = "unittest"
)

// formats are the formats, how their reports are made, and which line tells that one begins.
var formats = []struct {
	name   string
	new    func() report
	begins func(line []byte) bool
}{
	{formatCargo, func() report { return &cargo{} }, beginsCargo},
	{formatGo, func() report { return &goTest{} }, beginsGoTest},
	{formatJUnit, func() report { return &junit{} }, beginsJUnit},
	{formatNode, func() report { return &nodeTest{} }, beginsNode},
	{formatPytest, func() report { return &pytest{} }, beginsPytest},
	{formatTAP, func() report { return &tap{} }, beginsTAP},
	{formatUnittest, func() report { return &unittest{} }, beginsUnittest},
}

// formatNames are the words of the key format.
func formatNames() []string {
	names := []string{formatAuto}
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

func newReport(format string) report {
	for _, f := range formats {
		if f.name == format {
			return f.new()
		}
	}
	return &autoReport{}
}

// autoReport waits for the first line that tells a format and reads the rest by it.
type autoReport struct{ report report }

func (a *autoReport) readLine(line []byte) []byte {
	if a.report == nil {
		for _, f := range formats {
			if f.begins(line) {
				a.report = f.new()
				break
			}
		}
	}
	if a.report == nil {
		return line
	}
	return a.report.readLine(line)
}

func (a *autoReport) results() (results, error) {
	if a.report == nil {
		return results{}, nil
	}
	return a.report.results()
}

// reportBegan reports whether the command printed a report at all, be it one of no test.
func reportBegan(r report) bool {
	switch r := r.(type) {
	case *autoReport:
		return r.report != nil
	case *goTest:
		return r.began
	default:
		return true // somebody said that it is one
	}
}

// results are the counts of a report, and the names that it has for them. A report that counts without names, or
// that names more than it counts, is as good as any: the counts are what holds.
type results struct {
	passed, failed, skipped  int
	passedNames, failedNames nameList
}

// addPassed counts a test that passed.
func (r *results) addPassed(name string) {
	r.passed++
	r.passedNames.add(name)
}

// addFailed counts a test that failed.
func (r *results) addFailed(name string) {
	r.failed++
	r.failedNames.add(name)
}

// addMoreFailed counts n tests that failed and have one name together; n may be less than 1.
func (r *results) addMoreFailed(name string, n int) {
	if n > 0 {
		r.addFailed(name)
		r.failed += n - 1
	}
}

// hasTests says whether there was a test at all.
func (r *results) hasTests() bool { return r.passed+r.failed+r.skipped > 0 }

// nameList are names of tests, each once, as far as there is room.
type nameList struct {
	names []string
	size  int // bytes so far
}

const (
	maxNames = 2 << 10 // bytes of all names
	maxName  = 200     // bytes of one
)

func (n *nameList) add(name string) {
	if name = firing.PlainText([]byte(name)); len(name) > maxName {
		name = firing.TrimText([]byte(name[:maxName])) + "…"
	}
	if name == "" || slices.Contains(n.names, name) || n.size+len(name) > maxNames {
		return
	}
	n.names, n.size = append(n.names, name), n.size+len(name)
}

// listFor are the names of so many tests, and how many more there are.
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
