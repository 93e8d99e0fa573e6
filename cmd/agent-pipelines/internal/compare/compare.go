package compare

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// Diff compares two sessions.
func Diff(a, b *Snapshot) Comparison {
	a.prepare()
	b.prepare()
	c := Comparison{
		Sessions: [2]Session{a.session(), b.session()}, Plan: append([]Key{}, plans(a, b)...), Inputs: append([]Key{}, inputs(a, b)...), Divergence: divergence(a, b), Nodes: nodes(a, b),
		Texts: append([]Text{}, texts(a, b)...),
	}
	c.summarize()
	return c
}

// summarize sets Differ, Equal and Text.
func (c *Comparison) summarize() {
	c.Differ = []string{}
	add := func(kind string, differs bool) {
		if differs {
			c.Differ = append(c.Differ, kind)
		}
	}
	add("status", end(&c.Sessions[0]) != end(&c.Sessions[1]))
	add("plan", len(c.Plan) > 0)
	add("inputs", len(c.Inputs) > 0)
	add("way", c.Divergence != nil)
	add("nodes", slices.ContainsFunc(c.Nodes, func(n Node) bool { return len(n.Differ) > 0 }))
	add("texts", len(c.Texts) > 0)
	c.Equal = len(c.Differ) == 0
	c.Text = c.sentence()
}

// end returns the parts of a session's end that count as a difference.
func end(s *Session) [5]any { return [5]any{s.Crashed, s.Status, s.Stage, s.Reason, s.Failure} }

// divergence returns the first visit that differs, nil if none does.
func divergence(a, b *Snapshot) *Divergence {
	aWay, bWay := a.visits(), b.visits()
	for i := range max(len(aWay), len(bWay)) {
		p := &Divergence{Visit: i + 1}
		if i < len(aWay) {
			p.Values[0] = a.describeVisit(aWay[i])
		}
		if i < len(bWay) {
			p.Values[1] = b.describeVisit(bWay[i])
		}
		if p.Values[0] != p.Values[1] {
			return p
		}
	}
	return nil
}

func (s *Snapshot) visits() []engine.Visit {
	if s.Inspection.History == nil {
		return nil
	}
	return s.Inspection.History.Visits
}

// nodes pairs the nodes of two sessions.
func nodes(a, b *Snapshot) []Node {
	aFacts, aOrder := a.facts()
	bFacts, bOrder := b.facts()
	all := []Node{}
	for _, label := range slices.Concat(aOrder, slices.DeleteFunc(bOrder, func(label string) bool { return aFacts[label] != nil })) {
		n := Node{Node: label, Values: [2]*Facts{aFacts[label], bFacts[label]}}
		n.Differ = n.Values[0].differs(n.Values[1])
		all = append(all, n)
	}
	return all
}

// differs returns the names of the members that differ; none if a session lacks the node, which is a difference of the
// plans.
func (f *Facts) differs(g *Facts) []string {
	names := []string{}
	if f == nil || g == nil {
		return names
	}
	members := []string{"status", "outcome", "reason", "visits", "iterations", "agents"}
	if f.Visits == 0 || g.Visits == 0 { // the other members of a node that was not entered mean nothing
		members = members[:1]
	}
	a, _ := generic(f).(map[string]any)
	b, _ := generic(g).(map[string]any)
	for _, member := range members {
		if !reflect.DeepEqual(a[member], b[member]) {
			names = append(names, member)
		}
	}
	return names
}

// Limit keeps at most `most` differences of each kind and counts the others in LeftOut. Equal nodes are dropped first.
func (c *Comparison) Limit(most int) {
	c.Plan, c.LeftOut.Plan = limit(c.Plan, most)
	c.Inputs, c.LeftOut.Inputs = limit(c.Inputs, most)
	c.Texts, c.LeftOut.Texts = limit(c.Texts, most)
	if len(c.Nodes) > most { // nodes that differ come first
		slices.SortStableFunc(c.Nodes, func(a, b Node) int { return cmp.Compare(min(len(b.Differ), 1), min(len(a.Differ), 1)) })
	}
	c.Nodes, c.LeftOut.Nodes = limit(c.Nodes, most)
}

func limit[T any](all []T, most int) (kept []T, left int) {
	if len(all) <= most {
		return all, 0
	}
	return all[:most], len(all) - most
}

// sentence returns the result of the comparison in a sentence without its subject.
func (c *Comparison) sentence() string {
	text := "did the same"
	if !c.Equal {
		text = "differ in " + strings.Join(c.Differ, ", ")
	}
	if c.Sessions[0].Running || c.Sessions[1].Running {
		text += " so far"
	}
	return text
}
