package check

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// nodeTest reads the output of node --test with reporter spec or tap: the counts at the end, which both reporters print
// since Node.js 18, and the test names. A cancelled test counts as failed, a test marked todo as skipped.
type nodeTest struct {
	tally     results
	counts    map[string]int // of an unfinished block of counts
	inSummary bool           // below the header of the failed tests
	point     *point         // the last TAP point, until its lines show whether it is a suite
}

var (
	nodeCount   = regexp.MustCompile(`^(?:ℹ|#) ([a-z]+(?:_ms)?) (\d{1,8})(?:\.\d+)?$`)
	nodePassed  = regexp.MustCompile(`^✔ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodeSkipped = regexp.MustCompile(`^﹣ (.+) \(\d+(?:\.\d+)?ms\) # (?:SKIP|TODO)`)
	nodeFailed  = regexp.MustCompile(`^✖ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodeBegin   = regexp.MustCompile(`^[✔✖] .+ \(\d+\.\d+ms\)`)
)

const (
	nodeSummaryHeader = "✖ failing tests:"
	nodeSuite         = "type: 'suite'" // a line of a point
)

// nodeCounts are the names in a block of counts, in order. The first and the last are always present.
var nodeCounts = []string{"tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms"}

func beginsNode(line []byte) bool {
	text := firing.PlainText(line)
	m := nodeCount.FindStringSubmatch(text)
	return nodeBegin.MatchString(text) || len(m) > 0 && m[1] == nodeCounts[0]
}

func (n *nodeTest) readLine(line []byte) []byte {
	text := firing.PlainText(line)
	if m := nodeCount.FindStringSubmatch(text); len(m) > 0 && slices.Contains(nodeCounts, m[1]) {
		n.addCount(m[1], parseDigits(m[2]))
		return line
	}
	n.counts = nil // another line ends the block
	n.readName(text, line)
	return line
}

// addCount reads a line of a block. Only a complete block counts, because a test may print such a line.
func (n *nodeTest) addCount(name string, value int) {
	if name == nodeCounts[0] {
		n.counts = map[string]int{}
	}
	if n.counts == nil {
		return
	}
	n.counts[name] = value
	if name != nodeCounts[len(nodeCounts)-1] {
		return
	}
	c := n.counts
	n.counts = nil
	_, pass := c["pass"]
	_, fail := c["fail"]
	if !pass || !fail {
		return
	}
	n.tally.passed += c["pass"]
	n.tally.failed += c["fail"] + c["cancelled"]
	n.tally.skipped += c["skipped"] + c["todo"]
	n.tally.failed += max(0, c["tests"]-c["pass"]-c["fail"]-c["cancelled"]-c["skipped"]-c["todo"])
}

// readName reads the line of a test. For failed tests only the summary distinguishes tests from suites; with
// reporter tap the line is a point.
func (n *nodeTest) readName(text string, line []byte) {
	if text == nodeSummaryHeader {
		n.inSummary = true
		return
	}
	if m := nodePassed.FindStringSubmatch(text); m != nil {
		n.tally.namePassed(m[1])
	}
	if m := nodeFailed.FindStringSubmatch(text); m != nil && n.inSummary {
		n.tally.nameFailed(m[1])
	}
	if m := nodeSkipped.FindStringSubmatch(text); m != nil {
		n.tally.name(m[1], statusSkipped)
	}
	if p, ok := readPoint(bytes.TrimSpace(line)); ok {
		n.addPoint()
		n.point = &p
	} else if text == nodeSuite {
		n.point = nil
	}
}

// addPoint adds the name of the last point.
func (n *nodeTest) addPoint() {
	switch p := n.point; {
	case p == nil:
	case p.skipped:
		n.tally.name(p.name, statusSkipped)
	case p.failed:
		n.tally.nameFailed(p.name)
	default:
		n.tally.namePassed(p.name)
	}
	n.point = nil
}

func (n *nodeTest) results() (results, error) {
	n.addPoint()
	return n.tally, nil
}
