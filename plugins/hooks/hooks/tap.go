package hooks

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// tap reads the Test Anything Protocol, versions 12 to 14 (testanything.org). The points of subtests,
// which are indented, are summed up by the point of their test and do not count. A point that is to do
// counts as skipped.
type tap struct {
	found   results
	planned int // points by the plans
	points  int // points that came
}

var (
	tapPoint     = regexp.MustCompile(`^(not )?ok(?:[ \t]+(\d+))?(?:[ \t]+-)?(?:[ \t]+(.*))?$`)
	tapNumbered  = regexp.MustCompile(`^(not )?ok \d+( |$)`)
	tapPlan      = regexp.MustCompile(`^1\.\.(\d+)\s*(?:#.*)?$`)
	tapVersion   = regexp.MustCompile(`^TAP version \d+\s*$`)
	tapBail      = regexp.MustCompile(`(?i)^bail out!\s*(.*)$`)
	tapDirective = regexp.MustCompile(`(?i)[ \t]#[ \t]*(skip|todo)\b.*$`)
)

var tapEscapes = strings.NewReplacer(`\\`, `\`, `\#`, "#")

// beginsTAP does not take points without a number: go test prints "ok" and a package.
func beginsTAP(line []byte) bool {
	line = bytes.TrimRight(line, "\r\n")
	return tapVersion.Match(line) || tapPlan.Match(line) || tapNumbered.Match(line)
}

func (t *tap) line(line []byte) []byte {
	bare := bytes.TrimRight(line, "\r\n \t")
	switch {
	case tapPlan.Match(bare):
		n, err := strconv.Atoi(string(tapPlan.FindSubmatch(bare)[1]))
		if err == nil && n <= maxPlan {
			t.planned += n
		}
	case tapPoint.Match(bare):
		t.point(tapPoint.FindSubmatch(bare))
	case tapBail.Match(bare):
		t.found.fail("Bail out! " + string(tapBail.FindSubmatch(bare)[1]))
	}
	return line
}

// maxPlan is the longest plan that is believed.
const maxPlan = 10_000_000

func (t *tap) point(m [][]byte) {
	t.points++
	failed, number, name := len(m[1]) > 0, m[2], append([]byte{' '}, m[3]...)
	directive := bytes.ToLower(bytes.TrimLeft(tapDirective.Find(name), " \t#"))
	switch {
	case bytes.HasPrefix(directive, []byte("skip")), bytes.HasPrefix(directive, []byte("todo")):
		t.found.skipped++
	case !failed:
		t.found.passed++
	case len(bytes.TrimSpace(name)) == 0:
		t.found.fail("test " + string(number))
	default:
		t.found.fail(tapEscapes.Replace(string(name)))
	}
}

// results counts what was planned and never came as failed.
func (t *tap) results() (results, error) {
	missing := t.planned - t.points
	t.found.failMore(fmt.Sprintf("%d of %d planned tests did not run", missing, t.planned), missing)
	return t.found, nil
}
