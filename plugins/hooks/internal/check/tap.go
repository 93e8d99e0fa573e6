package check

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// tap reads the Test Anything Protocol, versions 12 to 14 (testanything.org). The indented points of subtests
// have names and do not count, because the point of their test sums them up. A point marked todo counts as skipped.
type tap struct {
	tally         results
	plannedPoints int // the sum of the plans
	points        int // points so far
}

var (
	tapPoint     = regexp.MustCompile(`^(not )?ok(?:[ \t]+(\d+))?(?:[ \t]+-)?(?:[ \t]+(.*))?$`)
	tapNumbered  = regexp.MustCompile(`^(not )?ok \d+( |$)`)
	tapNested    = regexp.MustCompile(`^(?: {4})+(?:not )?ok \d+(?: |$)`)
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
	case tapNested.Match(bare):
		p, _ := readPoint(bytes.TrimSpace(bare))
		t.tally.name(p.name, p.status())
	case tapPlan.Match(bare):
		n, err := strconv.Atoi(string(tapPlan.FindSubmatch(bare)[1]))
		if err == nil && n <= maxPlan {
			t.plannedPoints += n
		}
	case tapBail.Match(bare):
		t.tally.addFailed("Bail out! " + string(tapBail.FindSubmatch(bare)[1]))
	}
	return line
}

// maxPlan is the highest number of planned tests that is accepted.
const maxPlan = 10_000_000

func (t *tap) addPoint(p point) {
	t.points++
	t.tally.add(p.name, p.status())
}

// point is a test point, the line of TAP with the result of one test.
type point struct {
	failed, skipped bool
	name            string
}

func (p point) status() string {
	switch {
	case p.skipped:
		return statusSkipped
	case p.failed:
		return statusFailed
	default:
		return statusPassed
	}
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
		name:    tapEscapes.Replace(string(bytes.TrimSpace(tapDirective.ReplaceAll(name, nil)))),
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
