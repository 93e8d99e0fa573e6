package check

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
	p, isPoint := readPoint(bare)
	switch {
	case isPoint:
		t.point(p)
	case tapPlan.Match(bare):
		n, err := strconv.Atoi(string(tapPlan.FindSubmatch(bare)[1]))
		if err == nil && n <= maxPlan {
			t.planned += n
		}
	case tapBail.Match(bare):
		t.found.fail("Bail out! " + string(tapBail.FindSubmatch(bare)[1]))
	}
	return line
}

// maxPlan is the longest plan that is believed.
const maxPlan = 10_000_000

func (t *tap) point(p point) {
	t.points++
	switch {
	case p.skipped:
		t.found.skipped++
	case p.failed:
		t.found.fail(p.name)
	default:
		t.found.pass(p.name)
	}
}

// point is what a point says.
type point struct {
	failed, skipped bool
	name            string
}

// readPoint reads a line without white space around it.
func readPoint(line []byte) (point, bool) {
	m := tapPoint.FindSubmatch(line)
	if m == nil {
		return point{}, false
	}
	name := append([]byte{' '}, m[3]...)
	directive := bytes.ToLower(bytes.TrimLeft(tapDirective.Find(name), " \t#"))
	p := point{
		failed:  len(m[1]) > 0,
		skipped: bytes.HasPrefix(directive, []byte("skip")) || bytes.HasPrefix(directive, []byte("todo")),
		name:    tapEscapes.Replace(string(bytes.TrimSpace(name))),
	}
	if p.name == "" {
		p.name = strings.TrimSpace("test " + string(m[2]))
	}
	return p, true
}

// results counts what was planned and never came as failed.
func (t *tap) results() (results, error) {
	missing := t.planned - t.points
	t.found.failMore(fmt.Sprintf("%d of %d planned tests did not run", missing, t.planned), missing)
	return t.found, nil
}
