package check

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// cargo reads the output of cargo test: the sections of Rust's test harness, one for each test program. A section
// begins with its number of tests and ends with the counts; the missing tests of a section without an end count as
// failed.
type cargo struct {
	tally results
	// program is the running program, nil between programs.
	program *cargoProgram
	// inFailureList is true below a line "failures:", where the names of failed tests follow.
	inFailureList bool
}

// cargoProgram holds the counts of a running test program.
type cargoProgram struct {
	planned, passed, failed, skipped int
}

var (
	cargoBegin    = regexp.MustCompile(`^running (\d{1,8}) tests?$`)
	cargoTest     = regexp.MustCompile(`^test (.+) \.\.\. (ok|FAILED|ignored)\b`)
	cargoShort    = regexp.MustCompile(`^[.i]+(?: +\d+/\d+)?$`) // of -q: a character for each test
	cargoFailed   = regexp.MustCompile(`^(\S.*) --- FAILED$`)   // of -q
	cargoListItem = regexp.MustCompile(`^ {4}(\S.*)$`)
	cargoEnd      = regexp.MustCompile(`^test result: (?:ok|FAILED)\. (\d{1,8}) passed; (\d{1,8}) failed; (\d{1,8}) ignored; (\d{1,8}) measured; `)
)

func beginsCargo(line []byte) bool {
	line = bytes.TrimSpace(line)
	return cargoBegin.Match(line) || cargoEnd.Match(line)
}

func (c *cargo) readLine(line []byte) []byte {
	text := firing.PlainText(line)
	begin, end := cargoBegin.FindStringSubmatch(text), cargoEnd.FindStringSubmatch(text)
	switch {
	case begin != nil:
		c.closeProgram()
		c.program = &cargoProgram{planned: parseDigits(begin[1])}
	case end != nil:
		c.endProgram(parseDigits(end[1]), parseDigits(end[2]), parseDigits(end[3]), parseDigits(end[4]))
	case text == "failures:":
		c.inFailureList = true
		return line
	case c.inFailureList && text == "":
		return line
	case c.inFailureList:
		if m := cargoListItem.FindSubmatch(bytes.TrimRight(line, "\r\n")); m != nil {
			c.tally.nameFailed(string(m[1]))
			return line
		}
	case c.program != nil:
		c.readTest(text)
	}
	c.inFailureList = false
	return line
}

// endProgram adds the counts of a section's end. Counts that do not match the section's start were printed by a
// test and are ignored.
func (c *cargo) endProgram(passed, failed, skipped, measured int) {
	if c.program != nil && c.program.planned != passed+failed+skipped+measured {
		return
	}
	c.program = nil
	c.tally.passed += passed
	c.tally.failed += failed
	c.tally.skipped += skipped
}

// readTest reads the line of a test, or with -q of several tests.
func (c *cargo) readTest(text string) {
	if m := cargoTest.FindStringSubmatch(text); m != nil {
		name := strings.TrimSuffix(m[1], " - should panic")
		switch m[2] {
		case "ok":
			c.program.passed++
			c.tally.namePassed(name)
		case "FAILED":
			c.program.failed++
			c.tally.nameFailed(name)
		default:
			c.program.skipped++
			c.tally.name(name, statusSkipped)
		}
		return
	}
	if m := cargoFailed.FindStringSubmatch(text); m != nil {
		c.program.failed++
		c.tally.nameFailed(m[1])
		return
	}
	if m := cargoShort.FindString(text); m != "" {
		c.program.passed += strings.Count(m, ".")
		c.program.skipped += strings.Count(m, "i")
	}
}

// closeProgram closes a section without an end.
func (c *cargo) closeProgram() {
	p := c.program
	if p == nil {
		return
	}
	c.program = nil
	c.tally.passed += p.passed
	c.tally.skipped += p.skipped
	c.tally.failed += p.failed
	missing := p.planned - p.passed - p.failed - p.skipped
	c.tally.addMoreFailed(strconv.Itoa(missing)+" of "+strconv.Itoa(p.planned)+" tests did not end", missing)
}

func (c *cargo) results() (results, error) {
	c.closeProgram()
	return c.tally, nil
}

// parseDigits returns the number that a pattern has matched, of at most eight digits.
func parseDigits(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
