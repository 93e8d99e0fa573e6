package check

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// junit reads the JUnit XML of test runners. Several documents may follow each other, with other text between them. If
// a suite declares more failures than it has failed cases, the declared number counts.
type junit struct{ text []byte }

// maxJUnit is the longest report, in bytes.
const maxJUnit = 64 << 20

// junitSuite is an element testsuites or testsuite.
type junitSuite struct {
	Name     string       `xml:"name,attr"`
	Failures string       `xml:"failures,attr"`
	Errors   string       `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
	Cases    []junitCase  `xml:"testcase"`
}

// junitCase is an element testcase.
type junitCase struct {
	Name     string     `xml:"name,attr"`
	Class    string     `xml:"classname,attr"`
	Failures []struct{} `xml:"failure"`
	Errors   []struct{} `xml:"error"`
	Skipped  []struct {
		Type string `xml:"type,attr"`
	} `xml:"skipped"`
}

var junitRoot = []byte("<testsuite") // also matches testsuites

func beginsJUnit(line []byte) bool {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
	return bytes.HasPrefix(line, []byte("<?xml")) || bytes.HasPrefix(line, junitRoot)
}

func (j *junit) readLine(line []byte) []byte {
	if len(j.text) <= maxJUnit {
		j.text = append(j.text, line...)
	}
	return line
}

func (j *junit) results() (results, error) {
	var found results
	if len(j.text) > maxJUnit {
		return found, fmt.Errorf("the report is longer than %d MiB", maxJUnit>>20)
	}
	rest := bytes.ToValidUTF8(j.text, []byte("\uFFFD"))
	for {
		begin := bytes.Index(rest, junitRoot)
		if begin < 0 {
			return found, nil
		}
		var root junitSuite
		d := xml.NewDecoder(bytes.NewReader(rest[begin:]))
		if err := d.Decode(&root); err != nil {
			return found, fmt.Errorf("JUnit XML: %w", err)
		}
		root.count(&found)
		rest = rest[begin+int(d.InputOffset()):]
	}
}

// count adds the cases of the suite and returns the number of cases with a failure or an error.
func (s junitSuite) count(found *results) (bad int) {
	for _, inner := range s.Suites {
		bad += inner.count(found)
	}
	for _, c := range s.Cases {
		if c.failed() {
			bad++
		}
		switch {
		case c.failed() && !c.expectedToFail():
			found.addFailed(c.String())
		case len(c.Skipped) > 0:
			found.addSkipped(c.String())
		default:
			found.addPassed(c.String())
		}
	}
	hidden := attributeNumber(s.Failures) + attributeNumber(s.Errors) - bad
	found.addMoreFailed(s.Name, hidden)
	return bad + max(hidden, 0)
}

func (c junitCase) failed() bool { return len(c.Failures) > 0 || len(c.Errors) > 0 }

// expectedToFail reports whether the case is expected to fail, which Node.js reports as both failed and skipped.
func (c junitCase) expectedToFail() bool { return len(c.Skipped) > 0 && c.Skipped[0].Type == "todo" }

// String returns the name of the case, with the name of its class.
func (c junitCase) String() string {
	if c.Class == "" || strings.HasPrefix(c.Name, c.Class) {
		return c.Name
	}
	return c.Class + "." + c.Name
}

// attributeNumber returns the number in an attribute, 0 if it is invalid.
func attributeNumber(attribute string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attribute))
	if err != nil || n < 0 || n > maxPlan {
		return 0
	}
	return n
}
