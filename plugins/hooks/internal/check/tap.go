package check

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// tap reads the Test Anything Protocol, versions 12 to 14 (testanything.org). The indented points of subtests do
// not count, because the point of their test sums them up; they have names. A point marked todo counts as skipped.
type tap struct {
	tally         results
	plannedPoints int // the sum of the plans
	points        int // points so far
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

// beginsTAP reports whether a TAP report may begin with the line. It rejects points without a number, because go test
// prints "ok" and a package.
func beginsTAP(line []byte) bool {
	line = bytes.TrimRight(line, "\r\n")
	return tapVersion.Match(line) || tapPlan.Match(line) || tapNumbered.Match(line)
}

func (t *tap) readLine(line []byte) []byte {
	bare := bytes.TrimRight(line, "\r\n \t")
	p, isPoint := readPoint(bare)
	switch {
	case isPoint:
		t.addPoint(p)
	case tapPlan.Match(bare):
		n, err := strconv.Atoi(string(tapPlan.FindSubmatch(bare)[1]))
		if err == nil && n <= maxPlan {
			t.plannedPoints += n
		}
	case tapBail.Match(bare):
		t.tally.addFailed("Bail out! " + string(tapBail.FindSubmatch(bare)[1]))
	default:
		t.nameSubtest(bytes.TrimLeft(bare, " \t"))
	}
	return line
}

// nameSubtest records the status of a subtest's point, which does not count.
func (t *tap) nameSubtest(line []byte) {
	p, isPoint := readPoint(line)
	switch {
	case !isPoint || !tapNumbered.Match(line):
	case p.skipped:
		t.tally.name(p.name, statusSkipped)
	case p.failed:
		t.tally.name(p.name, statusFailed)
	default:
		t.tally.name(p.name, statusPassed)
	}
}

// maxPlan is the highest number of planned tests that is accepted.
const maxPlan = 10_000_000

func (t *tap) addPoint(p point) {
	t.points++
	switch {
	case p.skipped:
		t.tally.addSkipped(p.name)
	case p.failed:
		t.tally.addFailed(p.name)
	default:
		t.tally.addPassed(p.name)
	}
}

// point is a test point, the line of TAP with the result of one test.
type point struct {
	failed, skipped bool
	name            string
}

// readPoint parses a line without surrounding white space.
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
	p.name = cmp.Or(p.name, strings.TrimSpace("test "+string(m[2])))
	return p, true
}

// results counts planned points that are missing as failed.
func (t *tap) results() (results, error) {
	missing := t.plannedPoints - t.points
	t.tally.addMoreFailed(fmt.Sprintf("%d of %d planned tests did not run", missing, t.plannedPoints), missing)
	return t.tally, nil
}
