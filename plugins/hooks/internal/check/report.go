package check

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// report reads the output of a test runner line by line. It is used for one run.
type report interface {
	// readLine takes a line with its newline and returns the part of it to show to the user.
	readLine(line []byte) []byte
	// results is called once, after the last line. An error means that the report cannot be read.
	results() (results, error)
}

// The formats. Each has its report in a file of its own.
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

// formats are the formats with their constructors, and a test for the first line of a report.
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

// formatNames returns the values of the key format.
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

// autoReport detects the format by the first line that identifies one, and reads the rest in that format.
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

// reportBegan reports whether the command printed a report, even one without tests.
func reportBegan(r report) bool {
	switch r := r.(type) {
	case *autoReport:
		return r.report != nil
	case *goTest:
		return r.began
	default:
		return true // the configuration names the format
	}
}

// results are the counts of a report and its test names. A report may have no names, or more names than tests; the
// counts decide.
type results struct {
	passed, failed, skipped  int
	passedNames, failedNames nameList
}

// addPassed counts a passed test.
func (r *results) addPassed(name string) {
	r.passed++
	r.passedNames.add(name)
}

// addFailed counts a failed test.
func (r *results) addFailed(name string) {
	r.failed++
	r.failedNames.add(name)
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

const (
	maxNames = 2 << 10 // bytes of all names
	maxName  = 200     // bytes of one name
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
