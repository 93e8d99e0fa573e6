package contextstrategy

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Source is the effect of an iteration, with the session that sections are built from.
type Source struct {
	*effect.Effect
	// Prompt is the rest of the prompt. Sections do not repeat it.
	Prompt string
}

// builder collects the sections of a strategy. It keeps the first error, which [Source.Sections] returns.
type builder struct {
	Source
	sections []Section
	err      error
}

func (b *builder) add(kind Kind, name, text string) {
	b.sections = append(b.sections, Section{Kind: kind, Name: name, Text: text})
}

// keep keeps an error, unless it has kept an earlier one.
func (b *builder) keep(err error) { b.err = cmp.Or(b.err, err) }

// omitIfInPrompt returns the text, "" if the prompt contains it.
func (s Source) omitIfInPrompt(text string) string {
	if strings.Contains(s.Prompt, strings.TrimSpace(Escape(text))) || strings.Contains(s.Prompt, strings.TrimSpace(text)) {
		return ""
	}
	return text
}

// enteredNodes returns the nodes with agents that the run has entered, in the order of their last entry.
func (s Source) enteredNodes() []*plan.Node {
	var all []*plan.Node
	for path := range s.State.Nodes {
		if n := s.Plan.Find(path); n != nil && n.Plan == nil {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b *plan.Node) int {
		return cmp.Or(s.State.Nodes[a.Path].StartedAt.Compare(s.State.Nodes[b.Path].StartedAt), strings.Compare(a.Path, b.Path))
	})
	return all
}

// sibling returns the node with the id in the same list of nodes as the iteration's node, nil if there is none.
func (s Source) sibling(id string) *plan.Node {
	nodes, _ := s.Plan.Siblings(s.Command.Location.Outer())
	i := slices.IndexFunc(nodes, func(n plan.Node) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return &nodes[i]
}

// previousNode returns the node whose work this node continues: the node of inputs.from, else the nearest entered
// node before it in its list. It is nil if there is none.
func (s Source) previousNode() *plan.Node {
	if from := s.sibling(s.Node.Inputs.From()); from != nil {
		return from
	}
	nodes, position := s.Plan.Siblings(s.Command.Location.Outer())
	for i := position - 1; i >= 0; i-- {
		if _, entered := s.State.Nodes[nodes[i].Path]; entered {
			return &nodes[i]
		}
	}
	return nil
}

// iterationRanges returns the iterations of a node's newest visit by location. A step that was done in an earlier
// visit, and does not run again, has only the iteration of its last output.
func (s Source) iterationRanges(node string) []iterationRange {
	ns := s.State.Nodes[node]
	at := event.Location{Node: node, Visit: max(ns.Visit, 1), Run: max(ns.Run, 1)}
	if len(ns.Order) == 0 {
		return []iterationRange{{at: at, last: ns.Loop.Completed}}
	}
	var all []iterationRange
	for _, id := range ns.Order {
		step := ns.Steps[id]
		at.Step = id
		w := iterationRange{at: at, last: max(step.Last, step.Loop.Completed)}
		if w.last == 0 && step.Output != nil {
			w.earlier = store.Iteration(path.Dir(step.Output.Path))
		}
		all = append(all, w)
	}
	return all
}

// maxIterations bounds the newest iterations of a location that are read.
const maxIterations = 100

// iterationRange is a location with the number of its last iteration, or with one iteration of an earlier visit.
type iterationRange struct {
	at      event.Location
	last    int
	earlier store.Iteration
}

// iterations returns the newest iterations in their order.
func (w iterationRange) iterations(p *plan.Plan) ([]store.Iteration, error) {
	dir, err := store.NodeAt(p, w.at)
	var all []store.Iteration
	if w.earlier != "" {
		all = append(all, w.earlier)
	}
	for i := max(1, w.last-maxIterations+1); i <= w.last; i++ {
		all = append(all, dir.Iteration(i))
	}
	return all, err
}

// name returns the node and step for the name of a section.
func (w iterationRange) name(n *plan.Node) string {
	if w.at.Step != "" {
		return n.ID + ", step " + w.at.Step
	}
	return n.ID
}

// oneLine returns a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
