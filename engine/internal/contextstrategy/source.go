package contextstrategy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

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
	b := &builder{Source: s}
	var parts []func()
	switch strategy {
	case "":
	case Full:
		parts = []func(){b.request, b.conversation, b.tree, b.namedFiles}
	case Focused:
		parts = []func(){b.step, b.stepCriteria, b.namedFiles, b.toolResults}
	case Minimal:
		parts = []func(){b.previousWork, b.criteria, b.checkResults}
	case Summary:
		parts = []func(){b.request, b.titles, b.stepLines, b.checkSummary, b.changes, b.history}
	default:
		return nil, failure.New(failure.ConfigInvalid, "policy.context of %s is %q", s.Node.ID, strategy).
			WithHint("write %s, %s, %s or %s", Full, Focused, Minimal, Summary)
	}
	for _, part := range parts {
		if part(); b.err != nil {
			return nil, b.err
		}
	}
	return slices.DeleteFunc(b.sections, func(s Section) bool { return strings.TrimSpace(s.Text) == "" }), nil
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

// keep keeps an error, unless there was one before.
func (b *builder) keep(err error) { b.err = cmp.Or(b.err, err) }

// unlessInPrompt returns the text, "" if the prompt contains it.
func (s Source) unlessInPrompt(text string) string {
	if strings.Contains(s.Prompt, strings.TrimSpace(Escape(text))) || strings.Contains(s.Prompt, strings.TrimSpace(text)) {
		return ""
	}
	return text
}

// request adds the text and the input files that the run was started with.
func (b *builder) request() {
	b.add(Fact, "request", b.unlessInPrompt(b.Plan.EffectiveContext(b.Node)))
	files, err := b.Inputs.Initial(b.State, b.Command.Location.Outer())
	b.keep(err)
	b.addFiles("input ", files)
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
	nodes, position := s.Plan.Siblings(s.Command.Location.Outer())
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

// addFeedback adds the text of a feedback reference, which may be nil.
func (b *builder) addFeedback(n *plan.Node, ref *event.Ref) {
	if ref == nil {
		return
	}
	text, err := b.Dir.ReadRef(*ref)
	b.keep(err)
	b.add(Talk, "feedback of "+n.ID, b.unlessInPrompt(string(text)))
}

// conversation adds the outputs of all agents and the feedback on them, the oldest first.
func (b *builder) conversation() {
	for _, n := range b.enteredNodes() {
		ns := b.State.Nodes[n.Path]
		for visit := b.State.PriorVisits[n.Path] + 1; visit < ns.Visit; visit++ {
			b.addVisit(n, event.Location{Node: n.Path, Visit: visit, Run: max(ns.Run, 1)})
		}
		b.addOutputs(n, true)
		b.addArtifact(n)
		b.addFeedback(n, ns.Loop.Feedback)
	}
}

// addVisit adds the outputs of an earlier visit of a node.
func (b *builder) addVisit(n *plan.Node, at event.Location) {
	dir, err := store.NodeAt(b.Plan, at)
	b.keep(err)
	entries, err := b.Dir.Entries(string(dir) + "/iterations")
	b.keep(err)
	b.addOutputFiles(fmt.Sprintf("output of %s, visit %d", n.ID, at.Visit), b.outputFiles(iterationRange{at: at, last: len(entries)}), true)
}

// addOutputs adds the outputs of a node's newest visit: all of them, or the last one of each location.
func (b *builder) addOutputs(n *plan.Node, all bool) {
	if n.Kind != plan.KindStage {
		files, err := b.Inputs.NodeOutputs(b.State, n.Path)
		b.keep(err)
		b.addOutputFiles("output of "+n.ID, files, true)
		return
	}
	for _, w := range b.iterationRanges(n.Path) {
		b.addOutputFiles("output of "+w.name(n), b.outputFiles(w), all)
	}
}

// outputFiles returns the output files of a location's newest iterations.
func (b *builder) outputFiles(w iterationRange) []string {
	iterations, err := w.iterations(b.Plan)
	b.keep(err)
	files := make([]string, len(iterations))
	for i, it := range iterations {
		files[i] = b.Dir.Abs(it.Output())
	}
	return files
}

// addOutputFiles adds output files with the same name, all of them or the last one.
func (b *builder) addOutputFiles(name string, files []string, all bool) {
	var sections []Section
	for _, file := range files {
		if section, ok := b.readFile(file); ok {
			section.Kind, section.Name = Talk, name
			sections = append(sections, section)
		}
	}
	if len(sections) > 1 {
		for i := range sections {
			sections[i].Name = fmt.Sprintf("%s, %d of %d", name, i+1, len(sections))
		}
	}
	if !all {
		sections = sections[max(0, len(sections)-1):]
	}
	b.sections = append(b.sections, sections...)
}

// history adds the reasons of the returns from this node.
func (b *builder) history() {
	prefix := b.Node.ID + ":"
	if embedder := b.Plan.Embedder(b.Command.Location.Outer()); embedder != "" {
		prefix = embedder + "/" + prefix
	}
	var text strings.Builder
	for _, edge := range slices.Sorted(maps.Keys(b.State.Cycles)) {
		c := b.State.Cycles[edge]
		if !strings.HasPrefix(edge, prefix) {
			continue
		}
		for i, reason := range c.Reasons {
			fmt.Fprintf(&text, "- %s, return %d of at most %d: %s\n", edge, c.Count-len(c.Reasons)+i+1, c.Limit, oneLine(reason))
		}
	}
	b.add(Fact, "earlier reviews", text.String())
}

// oneLine returns a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
