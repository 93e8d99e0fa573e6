package contextstrategy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxFacts bounds the file with a check's facts, in bytes.
const maxFacts = 1 << 20

// checkResults adds the check results of the previous node and of this node, with the output of failed checks.
func (b *builder) checkResults() {
	var text strings.Builder
	nodes := []*plan.Node{b.Node}
	if n := b.previousNode(); n != nil && n.Path != b.Command.Location.Outer() {
		nodes = []*plan.Node{n, b.Node}
	}
	for _, n := range nodes {
		for _, m := range b.measurements(n) {
			fmt.Fprintf(&text, "- %s\n%s", checkLine(n, m), b.factLines(m))
		}
	}
	b.add(Fact, "check results", text.String())
}

func (s Source) measurements(n *plan.Node) []state.Measurement {
	if n == s.Node {
		return s.State.LoopAt(s.Command.Location).Measured
	}
	return s.State.Nodes[n.Path].Loop.Measured
}

// checkLine returns a check's result in one line.
func checkLine(n *plan.Node, m state.Measurement) string {
	switch {
	case m.Skipped:
		return n.ID + "/" + m.ID + ": left out, nothing was measured: " + oneLine(m.Reason)
	case m.Passed:
		return n.ID + "/" + m.ID + ": passed"
	case m.Failure != nil:
		return n.ID + "/" + m.ID + ": could not be made: " + oneLine(m.Failure.Message)
	default:
		return n.ID + "/" + m.ID + ": failed: " + oneLine(m.Reason)
	}
}

// factLines returns a check's counts, failed tests and the end of its output.
func (s Source) factLines(m state.Measurement) string {
	if m.Facts == nil {
		return ""
	}
	data, err := s.Dir.Read(m.Facts.Path, maxFacts)
	if err != nil {
		return "" // the line above has the result
	}
	f, err := artifact.ReadFacts(data)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.Counts)) {
		fmt.Fprintf(&b, "  %s: %d\n", name, f.Counts[name])
	}
	for _, name := range f.Failed {
		fmt.Fprintf(&b, "  failed: %s\n", oneLine(name))
	}
	if m.Passed || f.Output == "" {
		return b.String()
	}
	for text := range strings.Lines(f.Output) {
		b.WriteString("  | " + strings.TrimRight(text, "\n") + "\n")
	}
	return b.String()
}

// checkSummary adds one line for each check.
func (b *builder) checkSummary() {
	var text strings.Builder
	for _, n := range b.enteredNodes() {
		for _, m := range b.State.Nodes[n.Path].Loop.Measured {
			fmt.Fprintf(&text, "- %s\n", checkLine(n, m))
		}
	}
	b.add(Fact, "checks", text.String())
}

// stepLines adds one line for each step.
func (b *builder) stepLines() {
	for _, n := range b.enteredNodes() {
		var text strings.Builder
		ns := b.State.Nodes[n.Path]
		for _, id := range ns.Order {
			step := ns.Steps[id]
			fmt.Fprintf(&text, "- %s: %s", oneLine(id+" "+step.Title), step.Status)
			if step.Reason != "" {
				text.WriteString(": " + oneLine(step.Reason))
			}
			text.WriteByte('\n')
		}
		b.add(Step, "steps of "+n.ID, text.String())
	}
}
