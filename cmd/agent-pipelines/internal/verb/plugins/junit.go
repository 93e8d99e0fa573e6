package plugins

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify"
)

// junitSuite is a report in the JUnit XML format, which CI servers read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitReason `xml:"failure,omitempty"`
	Skipped *junitReason `xml:"skipped,omitempty"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes a report of `plugins verify` to a file.
func writeJUnit(path string, r verify.Report) error {
	seconds := func(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }
	suite := junitSuite{
		Name: "agent-plugin-" + r.Plugin, Tests: len(r.Rows), Failures: r.Failed, Skipped: r.NotApplicable, Time: seconds(r.Milliseconds),
	}
	for _, row := range r.Rows {
		c := junitCase{Class: cmp.Or(row.Component, "plugin"), Name: row.ID, Time: seconds(row.Milliseconds)}
		switch row.Result {
		case verify.Fail:
			c.Failure = &junitReason{row.Seen, row.Title + "\n" + row.Do}
		case verify.NotApplicable:
			c.Skipped = &junitReason{row.Seen, row.Do}
		case verify.Pass:
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path, append([]byte(xml.Header), append(text, '\n')...), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
