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

// Source is what a brief is made from: the iteration that it is for, and where everything lies. All fields but
// Prompt and Redactor are needed.
type Source struct {
	Plan     *plan.Plan
	Project  *store.Project
	Dir      *store.Dir
	Inputs   *inputs.Reader
	Redactor *redact.Redactor // takes the secrets out of files
	State    state.State
	Node     *plan.Node
	Location event.Location
	// Prompt is what the agent is told anyway; a brief does not say it again.
	Prompt string
}

// The context strategies.
const (
	Full    = "full"    // the request, all that was said, the project's files, those that are named
	Focused = "focused" // the step, what it has to come to, its files, the last tool results
	Minimal = "minimal" // what the node before left: output, files, and how it was measured
	Summary = "summary" // the request, and in short what became of it
)

// Sections are those of a strategy, in their order, each with some text; none for "". An unknown strategy is an error,
// and so is a file of the session that cannot be read. What an agent named and is not there is left out.
func (s Source) Sections(strategy string) ([]Section, error) {
	var parts []func() ([]Section, error)
	switch strategy {
	case "":
		return nil, nil
	case Full:
		parts = []func() ([]Section, error){s.request, s.talk, s.tree, s.namedFiles}
	case Focused:
		parts = []func() ([]Section, error){s.step, s.stepCriteria, s.namedFiles, s.toolResults}
	case Minimal:
		parts = []func() ([]Section, error){s.before, s.criteria, s.checkResults}
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

// unsaid is a text of which the prompt may have a copy, "" if it has.
func (s Source) unsaid(text string) string {
	if strings.Contains(s.Prompt, strings.TrimSpace(Escape(text))) || strings.Contains(s.Prompt, strings.TrimSpace(text)) {
		return ""
	}
	return text
}

// request is what the run was started with: the words and files of whoever started it.
func (s Source) request() ([]Section, error) {
	sections := []Section{{Kind: Fact, Name: "request", Text: s.unsaid(s.Plan.ContextOf(s.Node))}}
	files, err := s.Inputs.Initial(s.State, s.Location.Outer())
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		sections = append(sections, s.body("input ", file)...)
	}
	return sections, nil
}

// entered are the nodes that agents have worked at, in the order in which the run came to them last.
func (s Source) entered() []*plan.Node {
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

// previous is the node whose work this one goes on with: that of inputs.from, else the last one before it in its
// list that was entered; nil if there is none.
func (s Source) previous() *plan.Node {
	nodes, position := s.Plan.Siblings(s.Location.Outer())
	from := s.Node.Inputs.From()
	for i := range nodes {
		if from != "" && nodes[i].ID == from {
			return &nodes[i]
		}
	}
	for i := position - 1; i >= 0; i-- {
		if _, was := s.State.Nodes[nodes[i].Path]; was {
			return &nodes[i]
		}
	}
	return nil
}

// place is where the newest visit of a node works, or one of its steps.
func (s Source) place(path, step string) event.Location {
	ns := s.State.Nodes[path]
	return event.Location{Node: path, Visit: max(ns.Visit, 1), Run: max(ns.Run, 1), Step: step}
}

// works are the places of a node at which agents have worked in its newest visit. A step that was done in an earlier
// visit, and is not made again, is at the place where its last output is.
func (s Source) works(path string) []work {
	ns := s.State.Nodes[path]
	if len(ns.Order) == 0 {
		return []work{{at: s.place(path, ""), last: ns.Loop.Completed}}
	}
	var all []work
	for _, id := range ns.Order {
		step := ns.Steps[id]
		w := work{at: s.place(path, id), last: max(step.Last, step.Loop.Completed)}
		if w.last == 0 && step.Output != nil {
			w.before = store.Iteration(dirOf(step.Output.Path))
		}
		all = append(all, w)
	}
	return all
}

func dirOf(file string) string { return file[:max(0, strings.LastIndexByte(file, '/'))] }

// work is a place with the number of its last iteration, or the one iteration of an earlier visit.
type work struct {
	at     event.Location
	last   int
	before store.Iteration
}

// iterations are the newest ones of the place, in their order.
func (w work) iterations(p *plan.Plan) ([]store.Iteration, error) {
	dir, err := store.At(p, w.at)
	var all []store.Iteration
	if w.before != "" {
		all = append(all, w.before)
	}
	for i := max(1, w.last-maxLooks+1); i <= w.last; i++ {
		all = append(all, dir.Iteration(i))
	}
	return all, err
}

// name says where something comes from.
func (w work) name(of *plan.Node) string {
	if w.at.Step != "" {
		return of.ID + ", step " + w.at.Step
	}
	return of.ID
}

// feedback is the text of a reference to feedback, "" for nil.
func (s Source) feedback(ref *event.Ref) (string, error) {
	if ref == nil {
		return "", nil
	}
	text, err := s.Dir.ReadRef(*ref)
	return string(text), err
}

// talk is all that was said, the oldest first: outputs of agents, and what was said of them.
func (s Source) talk() ([]Section, error) {
	var sections []Section
	for _, n := range s.entered() {
		said, err := s.saidAt(n)
		if err != nil {
			return nil, err
		}
		sections = append(sections, said...)
	}
	return sections, nil
}

// saidAt is what was said at a node, its earlier visits first.
func (s Source) saidAt(n *plan.Node) ([]Section, error) {
	ns := s.State.Nodes[n.Path]
	var sections []Section
	for visit := s.State.PriorVisits[n.Path] + 1; visit < ns.Visit; visit++ {
		at := event.Location{Node: n.Path, Visit: visit, Run: max(ns.Run, 1)}
		dir, err := store.At(s.Plan, at)
		if err != nil {
			return nil, err
		}
		made, err := s.Dir.Entries(string(dir) + "/iterations")
		if err != nil {
			return nil, err
		}
		iterations, err := work{at: at, last: len(made)}.iterations(s.Plan)
		if err != nil {
			return nil, err
		}
		sections = append(sections, s.spoken(fmt.Sprintf("output of %s, visit %d", n.ID, visit), outputsIn(s.Dir, iterations))...)
	}
	said, err := s.outputs(n, true)
	if err != nil {
		return nil, err
	}
	artifact, err := s.artifactText(n)
	if err != nil {
		return nil, err
	}
	feedback, err := s.feedback(ns.Loop.Feedback)
	return append(append(sections, said...), artifact, Section{Kind: Talk, Name: "feedback of " + n.ID, Text: s.unsaid(feedback)}), err
}

// outputs are the outputs of a node's newest visit: all of them, or the last one of each place.
func (s Source) outputs(n *plan.Node, all bool) ([]Section, error) {
	if n.Kind != plan.KindStage {
		files, err := s.Inputs.OfNode(s.State, n.Path)
		return s.spoken("output of "+n.ID, files), err
	}
	var sections []Section
	for _, w := range s.works(n.Path) {
		iterations, err := w.iterations(s.Plan)
		if err != nil {
			return nil, err
		}
		said := s.spoken("output of "+w.name(n), outputsIn(s.Dir, iterations))
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

// spoken are files with what agents said, of the same name; those in which nothing was said are not there.
func (s Source) spoken(name string, files []string) []Section {
	var sections []Section
	for _, file := range files {
		for _, section := range s.body("", file) {
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

// history is why the run has come back from this node before.
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

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
