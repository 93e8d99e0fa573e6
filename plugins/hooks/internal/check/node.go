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
	found   results
	counts  map[string]int // of a block of counts that has begun
	summing bool           // the tests that failed are told once more
	point   *point         // the last one, until it is known to be no suite
}

var (
	nodeCount  = regexp.MustCompile(`^(?:ℹ|#) ([a-z]+(?:_ms)?) (\d{1,8})(?:\.\d+)?$`)
	nodePassed = regexp.MustCompile(`^✔ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodeFailed = regexp.MustCompile(`^✖ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodeBegin  = regexp.MustCompile(`^[✔✖] .+ \(\d+\.\d+ms\)`)
)

const (
	nodeSumming = "✖ failing tests:"
	nodeSuite   = "type: 'suite'" // of a point
)

// nodeCounts are the words of a block of counts, in order. The first and the last one are always there.
var nodeCounts = []string{"tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms"}

func beginsNode(line []byte) bool {
	said := firing.PlainText(line)
	m := nodeCount.FindStringSubmatch(said)
	return nodeBegin.MatchString(said) || len(m) > 0 && m[1] == nodeCounts[0]
}

func (n *nodeTest) line(line []byte) []byte {
	said := firing.PlainText(line)
	if m := nodeCount.FindStringSubmatch(said); len(m) > 0 && slices.Contains(nodeCounts, m[1]) {
		n.count(m[1], digits(m[2]))
		return line
	}
	n.counts = nil // a block has nothing else in it
	n.name(said, line)
	return line
}

// count takes a line of a block. Only a whole block counts, so that a test that prints such a line is not believed.
func (n *nodeTest) count(word string, value int) {
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
	n.found.passed += c["pass"]
	n.found.failed += c["fail"] + c["cancelled"]
	n.found.skipped += c["skipped"] + c["todo"]
	n.found.failed += max(0, c["tests"]-c["pass"]-c["fail"]-c["cancelled"]-c["skipped"]-c["todo"])
}

// name reads the line of a test. Of those that failed only what stands below the counts tells tests from suites; with
// the reporter tap it is a point.
func (n *nodeTest) name(said string, line []byte) {
	if said == nodeSumming {
		n.summing = true
		return
	}
	if m := nodePassed.FindStringSubmatch(said); m != nil {
		n.found.passes.add(m[1])
	}
	if m := nodeFailed.FindStringSubmatch(said); m != nil && n.summing {
		n.found.failures.add(m[1])
	}
	if p, ok := readPoint(bytes.TrimSpace(line)); ok {
		n.take()
		n.point = &p
	} else if said == nodeSuite {
		n.point = nil
	}
}

// take takes the name of the last point.
func (n *nodeTest) take() {
	switch p := n.point; {
	case p == nil || p.skipped:
	case p.failed:
		n.found.failures.add(p.name)
	default:
		n.found.passes.add(p.name)
	}
	n.point = nil
}

func (n *nodeTest) results() (results, error) {
	n.take()
	return n.found, nil
}
