package compare

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Diff compares two sessions.
func Diff(a, b *Snapshot) Comparison {
	a.prepare()
	b.prepare()
	c := Comparison{
		Sessions: [2]Session{a.session(), b.session()}, Plan: append([]Key{}, plans(a, b)...), Inputs: append([]Key{}, inputs(a, b)...), Divergence: divergence(a, b), Nodes: nodes(a, b),
	}
	found, left := texts(a, b)
	c.Texts, c.LeftOut.Outputs = append([]Text{}, found...), left
	c.summarize()
	return c
}

// summarize sets the kinds of the differences.
func (c *Comparison) summarize() {
	c.Differ = []string{}
	add := func(kind string, differs bool) {
		if differs {
			c.Differ = append(c.Differ, kind)
		}
	}
	add("status", c.end(0) != c.end(1))
	add("plan", len(c.Plan) > 0)
	add("inputs", len(c.Inputs) > 0)
	add("way", c.Divergence != nil)
	add("nodes", len(c.differing()) > 0)
	add("texts", len(c.Texts) > 0)
	c.Equal = len(c.Differ) == 0
	c.Text = c.sentence()
}

// end returns the parts of a session's end that count as a difference.
func (c *Comparison) end(i int) [4]string {
	s := &c.Sessions[i]
	return [4]string{status(s), s.Stage, s.Reason, s.Failure}
}

// differing returns the names of the nodes that differ.
func (c *Comparison) differing() []string {
	var all []string
	for i := range c.Nodes {
		if n := &c.Nodes[i]; len(n.Differ) > 0 {
			all = append(all, n.Node)
		}
	}
	return all
}

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
	if s.Survey.History == nil {
		return nil
	}
	return s.Survey.History.Visits
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

// Limit keeps at most this number of differences of each kind and counts the others. Equal nodes are dropped first.
func (c *Comparison) Limit(most int) {
	c.Plan, c.LeftOut.Plan = limit(c.Plan, most)
	c.Inputs, c.LeftOut.Inputs = limit(c.Inputs, most)
	c.Texts, c.LeftOut.Texts = limit(c.Texts, most)
	if len(c.Nodes) > most { // the different ones come first
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

// sentence returns the result of the comparison in a sentence.
func (c *Comparison) sentence() string {
	if c.Equal {
		return "did the same" + c.conclusion() + ": " + c.both()
	}
	made := slices.ContainsFunc(c.Differ, func(kind string) bool { return kind != "plan" && kind != "inputs" })
	if !made {
		return "had the same result" + c.conclusion() + ", though " + strings.Join(c.describeInputs(), ", and ") + ": " + c.both()
	}
	var parts []string
	if c.end(0) != c.end(1) {
		parts = append(parts, c.describeEnds())
	}
	parts = append(parts, c.describeInputs()...)
	if names := c.differing(); len(names) > 0 {
		verb := " came to something else"
		if len(names) > 3 {
			parts = append(parts, screen.Plural(len(names), "stage")+verb)
		} else {
			parts = append(parts, strings.Join(names, ", ")+verb)
		}
	} else if c.Divergence != nil {
		parts = append(parts, "their transitions differ")
	}
	parts = append(parts, c.describeDifferences()...)
	return "did not do the same" + c.conclusion() + ": " + strings.Join(parts, "; ")
}

// conclusion names the session that is still running.
func (c *Comparison) conclusion() string {
	if c.Sessions[0].Running || c.Sessions[1].Running {
		return " so far"
	}
	return ""
}

// both returns the common end of both sessions.
func (c *Comparison) both() string {
	s := &c.Sessions[0]
	if s.Status == "" {
		return "both never began"
	}
	return both(s) + ", after " + screen.Plural(s.Iterations, "iteration")
}

func both(s *Session) string {
	text := describeEnd(s)
	if ending, is := strings.CutPrefix(text, "is "); is {
		return "both are " + ending
	}
	return "both " + text
}

// describeEnds returns the ends of both sessions.
func (c *Comparison) describeEnds() string {
	a, b := &c.Sessions[0], &c.Sessions[1]
	if status(a) == status(b) && a.Stage == b.Stage && a.Status != "" {
		return both(a) + ", for different reasons"
	}
	return fmt.Sprintf("'%s' %s and '%s' %s", a.Session, describeEnd(a), b.Session, describeEnd(b))
}

func describeEnd(s *Session) string {
	text := "is " + status(s)
	switch s.Status {
	case "":
		return "never began"
	case state.Failed:
		text = "failed"
	}
	if s.Stage != "" {
		text += " at " + s.Stage
	}
	return text
}

// status returns the status of a session as text.
func status(s *Session) string {
	if s.Crashed {
		return "crashed"
	}
	return cmp.Or(string(s.Status), "never began")
}

// describeInputs lists the differences of plans and inputs.
func (c *Comparison) describeInputs() []string {
	var parts []string
	if a, b := c.Sessions[0].Pipeline, c.Sessions[1].Pipeline; a != b && a != "" && b != "" {
		parts = append(parts, fmt.Sprintf("they ran different pipelines (%s and %s)", a, b))
	} else if n := len(c.Plan); n > 0 {
		parts = append(parts, "their plans differ in "+screen.Plural(n, "place"))
	}
	if len(c.Inputs) > 0 {
		parts = append(parts, "they were given different inputs")
	}
	return parts
}

// describeDifferences counts the texts that differ.
func (c *Comparison) describeDifferences() []string {
	outputs, artifacts := 0, 0
	for i := range c.Texts {
		if t := &c.Texts[i]; t.Kind == "output" {
			outputs += 1 + t.More
		} else {
			artifacts++
		}
	}
	var parts []string
	for _, group := range []struct {
		n    int
		noun string
	}{{outputs, "output"}, {artifacts, "artifact"}} {
		switch group.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+group.noun+" differs")
		default:
			parts = append(parts, screen.Plural(group.n, group.noun)+" differ")
		}
	}
	return parts
}
