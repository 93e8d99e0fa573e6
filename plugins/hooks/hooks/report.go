package hooks

import (
	"fmt"
	"slices"
)

// report reads what a test runner prints, line by line. It belongs to one run.
type report interface {
	// line takes a line with its newline and returns what of it is worth showing to a person.
	line(line []byte) []byte
	// results is called once, after the last line. Errors are about a report that cannot be read.
	results() (results, error)
}

// The formats. Each has a file of its own with its report.
const (
	formatAuto  = "auto"
	formatGo    = "go"
	formatJUnit = "junit"
	formatTAP   = "tap"
)

// formats are the formats, how their reports are made, and which line tells that one begins.
var formats = []struct {
	name   string
	new    func() report
	begins func(line []byte) bool
}{
	{formatGo, func() report { return &goTest{} }, beginsGoTest},
	{formatJUnit, func() report { return &junit{} }, beginsJUnit},
	{formatTAP, func() report { return &tap{} }, beginsTAP},
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
	return &auto{}
}

// auto waits for the first line that tells a format and reads the rest by it.
type auto struct{ found report }

func (a *auto) line(line []byte) []byte {
	if a.found == nil {
		for _, f := range formats {
			if f.begins(line) {
				a.found = f.new()
				break
			}
		}
	}
	if a.found == nil {
		return line
	}
	return a.found.line(line)
}

func (a *auto) results() (results, error) {
	if a.found == nil {
		return results{}, nil
	}
	return a.found.results()
}

// results are the counts of a report.
type results struct {
	passed, failed, skipped int
	// failures are the names of those that failed, each once, as far as there is room.
	failures []string
	room     int // bytes of names so far
}

const (
	maxNames = 2 << 10 // bytes of all names
	maxName  = 200     // bytes of one
)

// fail counts a test that failed.
func (r *results) fail(name string) {
	r.failed++
	if name = plain([]byte(name)); len(name) > maxName {
		name = text([]byte(name[:maxName])) + "…"
	}
	if name == "" || slices.Contains(r.failures, name) || r.room+len(name) > maxNames {
		return
	}
	r.failures, r.room = append(r.failures, name), r.room+len(name)
}

// failMore counts n tests that failed and have one name together; n may be less than 1.
func (r *results) failMore(name string, n int) {
	if n > 0 {
		r.fail(name)
		r.failed += n - 1
	}
}

// known says whether there was a test at all.
func (r results) known() bool { return r.passed+r.failed+r.skipped > 0 }

// names are the failures, and how many more there are.
func (r results) names() []string {
	if more := r.failed - len(r.failures); len(r.failures) > 0 && more > 0 {
		return append(slices.Clone(r.failures), fmt.Sprintf("and %d more", more))
	}
	return r.failures
}
