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

// checkResults returns the check results of the previous node and of this one, with the output of the checks.
func (s Source) checkResults() ([]Section, error) {
	var b strings.Builder
	nodes := []*plan.Node{s.Node}
	if n := s.previousNode(); n != nil && n.Path != s.Location.Outer() {
		nodes = []*plan.Node{n, s.Node}
	}
	for _, n := range nodes {
		for _, m := range s.measurements(n) {
			fmt.Fprintf(&b, "- %s\n", checkLine(n, m))
			b.WriteString(s.factLines(m))
		}
	}
	return []Section{{Kind: Fact, Name: "check results", Text: b.String()}}, nil
}

func (s Source) measurements(n *plan.Node) []state.Measurement {
	if n == s.Node {
		return s.State.LoopAt(s.Location).Measured
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

// checkSummary returns one line for each check.
func (s Source) checkSummary() ([]Section, error) {
	var b strings.Builder
	for _, n := range s.enteredNodes() {
		for _, m := range s.State.Nodes[n.Path].Loop.Measured {
			fmt.Fprintf(&b, "- %s\n", checkLine(n, m))
		}
	}
	return []Section{{Kind: Fact, Name: "checks", Text: b.String()}}, nil
}

// stepLines returns one line for each step.
func (s Source) stepLines() ([]Section, error) {
	var sections []Section
	for _, n := range s.enteredNodes() {
		var b strings.Builder
		ns := s.State.Nodes[n.Path]
		for _, id := range ns.Order {
			step := ns.Steps[id]
			fmt.Fprintf(&b, "- %s", oneLine(id+" "+step.Title))
			fmt.Fprintf(&b, ": %s", step.Status)
			if step.Reason != "" {
				b.WriteString(": " + oneLine(step.Reason))
			}
			b.WriteByte('\n')
		}
		sections = append(sections, Section{Kind: Step, Name: "steps of " + n.ID, Text: b.String()})
	}
	return sections, nil
}
