package check

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// nodeTest reads what node --test prints with its reporter spec or tap: the lines at the end that count (Node.js 18
// and later), which both have, and the names of tests. A test that was cancelled has failed, one to do is skipped.
type nodeTest struct {
	tally     results
	counts    map[string]int // of a block of counts that has begun
	inSummary bool           // the tests that failed are told once more
	point     *point         // the last one, until it is known to be no suite
}

var (
	nodeCount  = regexp.MustCompile(`^(?:ℹ|#) ([a-z]+(?:_ms)?) (\d{1,8})(?:\.\d+)?$`)
	nodePassed = regexp.MustCompile(`^✔ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodeFailed = regexp.MustCompile(`^✖ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodeBegin  = regexp.MustCompile(`^[✔✖] .+ \(\d+\.\d+ms\)`)
)

const (
	nodeSummaryHeader = "✖ failing tests:"
	nodeSuite         = "type: 'suite'" // of a point
)

// nodeCounts are the words of a block of counts, in order. The first and the last one are always there.
var nodeCounts = []string{"tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms"}

func beginsNode(line []byte) bool {
	said := firing.PlainText(line)
	m := nodeCount.FindStringSubmatch(said)
	return nodeBegin.MatchString(said) || len(m) > 0 && m[1] == nodeCounts[0]
}

func (n *nodeTest) readLine(line []byte) []byte {
	said := firing.PlainText(line)
	if m := nodeCount.FindStringSubmatch(said); len(m) > 0 && slices.Contains(nodeCounts, m[1]) {
		n.addCount(m[1], parseDigits(m[2]))
		return line
	}
	n.counts = nil // a block has nothing else in it
	n.readName(said, line)
	return line
}

// addCount takes a line of a block. Only a whole block counts, so that a test that prints such a line is not believed.
func (n *nodeTest) addCount(word string, value int) {
	if word == nodeCounts[0] {
		n.counts = map[string]int{}
	}
	if n.counts == nil {
		return
	}
	n.counts[word] = value
	if word != nodeCounts[len(nodeCounts)-1] {
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

// readName reads the line of a test. Of those that failed only what stands below the counts tells tests from suites; with
// the reporter tap it is a point.
func (n *nodeTest) readName(said string, line []byte) {
	if said == nodeSummaryHeader {
		n.inSummary = true
		return
	}
	if m := nodePassed.FindStringSubmatch(said); m != nil {
		n.tally.passedNames.add(m[1])
	}
	if m := nodeFailed.FindStringSubmatch(said); m != nil && n.inSummary {
		n.tally.failedNames.add(m[1])
	}
	if p, ok := readPoint(bytes.TrimSpace(line)); ok {
		n.addPoint()
		n.point = &p
	} else if said == nodeSuite {
		n.point = nil
	}
}

// addPoint takes the name of the last point.
func (n *nodeTest) addPoint() {
	switch p := n.point; {
	case p == nil || p.skipped:
	case p.failed:
		n.tally.failedNames.add(p.name)
	default:
		n.tally.passedNames.add(p.name)
	}
	n.point = nil
}

func (n *nodeTest) results() (results, error) {
	n.addPoint()
	return n.tally, nil
}
