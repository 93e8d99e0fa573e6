package contextstrategy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Source has the iteration and the files that sections are built from. Plan, Project, Dir, Inputs, State, Node and
// Location are required.
type Source struct {
	Plan     *plan.Plan
	Project  *store.Project
	Dir      *store.Dir
	Inputs   *inputs.Reader
	Redactor *redact.Redactor // removes secrets from files
	State    state.State
	Node     *plan.Node
	Location event.Location
	// Prompt is the rest of the prompt. Sections do not repeat it.
	Prompt string
}

// The context strategies.
const (
	Full    = "full"    // request, conversation, list of project files, named files
	Focused = "focused" // step, acceptance criteria, named files, last tool results
	Minimal = "minimal" // previous node's output and files, criteria, check results
	Summary = "summary" // request and short results
)

// Sections returns the sections of a strategy in their order, without empty ones; none for "". An unknown strategy or
// an unreadable session file is an error. Missing files that an agent named are omitted.
func (s Source) Sections(strategy string) ([]Section, error) {
	var parts []func() ([]Section, error)
	switch strategy {
	case "":
		return nil, nil
	case Full:
		parts = []func() ([]Section, error){s.request, s.conversation, s.tree, s.namedFiles}
	case Focused:
		parts = []func() ([]Section, error){s.step, s.stepCriteria, s.namedFiles, s.toolResults}
	case Minimal:
		parts = []func() ([]Section, error){s.previousWork, s.criteria, s.checkResults}
	case Summary:
		parts = []func() ([]Section, error){s.request, s.titles, s.stepLines, s.checkSummary, s.changes, s.history}
	default:
		return nil, failure.New(failure.ConfigInvalid, "policy.context of %s is %q", s.Node.ID, strategy).
			WithHint("write %s, %s, %s or %s", Full, Focused, Minimal, Summary)
	}
	var all []Section
	for _, part := range parts {
		sections, err := part()
		if err != nil {
			return nil, err
		}
		all = append(all, sections...)
	}
	return slices.DeleteFunc(all, func(s Section) bool { return strings.TrimSpace(s.Text) == "" }), nil
}

// unlessInPrompt returns the text, "" if the prompt contains it.
func (s Source) unlessInPrompt(text string) string {
	if strings.Contains(s.Prompt, strings.TrimSpace(Escape(text))) || strings.Contains(s.Prompt, strings.TrimSpace(text)) {
		return ""
	}
	return text
}

// request returns the text and the input files that the run was started with.
func (s Source) request() ([]Section, error) {
	sections := []Section{{Kind: Fact, Name: "request", Text: s.unlessInPrompt(s.Plan.EffectiveContext(s.Node))}}
	files, err := s.Inputs.Initial(s.State, s.Location.Outer())
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		sections = append(sections, s.fileSection("input ", file)...)
	}
	return sections, nil
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

// previousNode returns the node whose work this one continues: that of inputs.from, else the last entered one before
// it in its list; nil if there is none.
func (s Source) previousNode() *plan.Node {
	nodes, position := s.Plan.Siblings(s.Location.Outer())
	from := s.Node.Inputs.From()
	for i := range nodes {
		if from != "" && nodes[i].ID == from {
			return &nodes[i]
		}
	}
	for i := position - 1; i >= 0; i-- {
		if _, entered := s.State.Nodes[nodes[i].Path]; entered {
			return &nodes[i]
		}
	}
	return nil
}

// nodeLocation returns the location of a node's newest visit, or of one of its steps.
func (s Source) nodeLocation(path, step string) event.Location {
	ns := s.State.Nodes[path]
	return event.Location{Node: path, Visit: max(ns.Visit, 1), Run: max(ns.Run, 1), Step: step}
}

// iterationRanges returns the iterations of a node's newest visit by location. A step that was done in an earlier
// visit, and does not run again, has the iteration of its last output.
func (s Source) iterationRanges(path string) []iterationRange {
	ns := s.State.Nodes[path]
	if len(ns.Order) == 0 {
		return []iterationRange{{at: s.nodeLocation(path, ""), last: ns.Loop.Completed}}
	}
	var all []iterationRange
	for _, id := range ns.Order {
		step := ns.Steps[id]
		w := iterationRange{at: s.nodeLocation(path, id), last: max(step.Last, step.Loop.Completed)}
		if w.last == 0 && step.Output != nil {
			w.earlier = store.Iteration(parentDir(step.Output.Path))
		}
		all = append(all, w)
	}
	return all
}

func parentDir(file string) string { return file[:max(0, strings.LastIndexByte(file, '/'))] }

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

// feedback returns the text of a feedback reference, "" for nil.
func (s Source) feedback(ref *event.Ref) (string, error) {
	if ref == nil {
		return "", nil
	}
	text, err := s.Dir.ReadRef(*ref)
	return string(text), err
}

// conversation returns the outputs of all agents and the feedback on them, the oldest first.
func (s Source) conversation() ([]Section, error) {
	var sections []Section
	for _, n := range s.enteredNodes() {
		said, err := s.nodeConversation(n)
		if err != nil {
			return nil, err
		}
		sections = append(sections, said...)
	}
	return sections, nil
}

// nodeConversation returns the conversation at a node, its earlier visits first.
func (s Source) nodeConversation(n *plan.Node) ([]Section, error) {
	ns := s.State.Nodes[n.Path]
	var sections []Section
	for visit := s.State.PriorVisits[n.Path] + 1; visit < ns.Visit; visit++ {
		at := event.Location{Node: n.Path, Visit: visit, Run: max(ns.Run, 1)}
		dir, err := store.NodeAt(s.Plan, at)
		if err != nil {
			return nil, err
		}
		entries, err := s.Dir.Entries(string(dir) + "/iterations")
		if err != nil {
			return nil, err
		}
		iterations, err := iterationRange{at: at, last: len(entries)}.iterations(s.Plan)
		if err != nil {
			return nil, err
		}
		sections = append(sections, s.outputSections(fmt.Sprintf("output of %s, visit %d", n.ID, visit), outputsIn(s.Dir, iterations))...)
	}
	outputs, err := s.outputs(n, true)
	if err != nil {
		return nil, err
	}
	artifact, err := s.artifactSection(n)
	if err != nil {
		return nil, err
	}
	feedback, err := s.feedback(ns.Loop.Feedback)
	return append(append(sections, outputs...), artifact, Section{Kind: Talk, Name: "feedback of " + n.ID, Text: s.unlessInPrompt(feedback)}), err
}

// outputs returns the outputs of a node's newest visit: all of them, or the last one of each location.
func (s Source) outputs(n *plan.Node, all bool) ([]Section, error) {
	if n.Kind != plan.KindStage {
		files, err := s.Inputs.NodeOutputs(s.State, n.Path)
		return s.outputSections("output of "+n.ID, files), err
	}
	var sections []Section
	for _, w := range s.iterationRanges(n.Path) {
		iterations, err := w.iterations(s.Plan)
		if err != nil {
			return nil, err
		}
		said := s.outputSections("output of "+w.name(n), outputsIn(s.Dir, iterations))
		if !all && len(said) > 1 {
			said = said[len(said)-1:]
		}
		sections = append(sections, said...)
	}
	return sections, nil
}

func outputsIn(d *store.Dir, iterations []store.Iteration) []string {
	files := make([]string, len(iterations))
	for i, it := range iterations {
		files[i] = d.Abs(it.Output())
	}
	return files
}

// outputSections returns output files as sections with the same name, without empty ones.
func (s Source) outputSections(name string, files []string) []Section {
	var sections []Section
	for _, file := range files {
		for _, section := range s.fileSection("", file) {
			section.Kind, section.Name = Talk, name
			sections = append(sections, section)
		}
	}
	if len(sections) > 1 {
		for i := range sections {
			sections[i].Name = fmt.Sprintf("%s, %d of %d", name, i+1, len(sections))
		}
	}
	return sections
}

// history returns the reasons of the returns from this node.
func (s Source) history() ([]Section, error) {
	prefix := s.Node.ID + ":"
	if embedder := s.Plan.Embedder(s.Location.Outer()); embedder != "" {
		prefix = embedder + "/" + prefix
	}
	var b strings.Builder
	for _, edge := range slices.Sorted(maps.Keys(s.State.Cycles)) {
		c := s.State.Cycles[edge]
		if !strings.HasPrefix(edge, prefix) {
			continue
		}
		for i, reason := range c.Reasons {
			fmt.Fprintf(&b, "- %s, return %d of at most %d: %s\n", edge, c.Count-len(c.Reasons)+i+1, c.Limit, oneLine(reason))
		}
	}
	return []Section{{Kind: Fact, Name: "earlier reviews", Text: b.String()}}, nil
}

// oneLine returns a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
