package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Snapshot is one of the two sessions. It is not safe for concurrent use.
type Snapshot struct {
	// Inspection has the state, history, metrics and artifacts of the session.
	Inspection *engine.Inspection
	// Read reads at most limit bytes of a file of the session; whole reports that the file is not longer.
	Read func(path string, limit int64) (text string, whole bool, err error)
	// Artifact reads an artifact that Inspection lists.
	Artifact func(engine.ArtifactInfo) (*engine.ArtifactContent, error)
	// Clean redacts a text of an agent.
	Clean func(string) string

	labels   map[string]string // of nodes, by path
	loops    map[loop]*outputs
	order    []loop
	agents   map[string][]string
	ownNames *strings.Replacer // replaces the session's own names
}

// loop identifies successive outputs: a visit of a node, by provider and step.
type loop struct {
	node           string // label
	visit, run     int
	provider, step string
}

// outputs holds the outputs of a loop by their iterations.
type outputs struct {
	refs map[int]event.Ref
	last int // number of the last iteration
}

// Begin takes the empty timeline of the session and returns the callback that collects its entries. A second call discards
// the entries so far.
func (s *Snapshot) Begin(t *timeline.Timeline) func(timeline.Entry) {
	s.labels = nodeLabels(t.Plan())
	s.reset()
	return s.observe
}

func (s *Snapshot) reset() {
	s.loops, s.order, s.agents = map[loop]*outputs{}, nil, map[string][]string{}
}

// nodeLabels returns the labels of a plan's nodes by path: the id, in a block or an embedded pipeline "outer/inner".
func nodeLabels(p *plan.Plan) map[string]string {
	labels := map[string]string{}
	name := func(n *plan.Node) {
		label := n.ID
		if i := strings.LastIndexByte(n.Path, '.'); i >= 0 {
			label = labels[n.Path[:i]] + "/" + label
		}
		labels[n.Path] = label
	}
	for n := range p.All() {
		name(n)
		for i := range n.Stages {
			stage := n.Stages[i]
			if !strings.HasPrefix(stage.Path, n.Path+".") { // in an embedded pipeline the paths are those of its plan
				_, last, _ := strings.Cut(stage.Path, ".")
				stage.Path = n.Path + "." + last
			}
			name(&stage)
		}
	}
	return labels
}

func (s *Snapshot) label(e timeline.Entry) string { return cmp.Or(s.labels[e.Location.Node], e.Name) }

// observe adds the next entry.
func (s *Snapshot) observe(e timeline.Entry) {
	if e.IsNewRun {
		s.reset()
	}
	if e.Type == event.IterationStart && e.Iteration != nil {
		s.addAgent(s.label(e), strings.TrimSuffix(e.Iteration.Provider+"/"+e.Iteration.Model, "/"))
	}
	if e.Completed && e.Iteration.Result.Output != nil {
		s.addOutput(e, *e.Iteration.Result.Output)
	}
}

// addAgent adds an agent that works on the node with the label.
func (s *Snapshot) addAgent(label, agent string) {
	if all := s.agents[label]; agent != "" && !slices.Contains(all, agent) {
		s.agents[label] = append(all, agent)
	}
}

// addOutput adds the output of an iteration.
func (s *Snapshot) addOutput(e timeline.Entry, ref event.Ref) {
	at := e.Location
	l := loop{s.label(e), at.Visit, at.Run, at.Branch, at.Step}
	o := s.loops[l]
	if o == nil {
		o = &outputs{refs: map[int]event.Ref{}}
		s.loops[l], s.order = o, append(s.order, l)
	}
	o.refs[at.Iteration], o.last = ref, at.Iteration
}

// prepare sets ownNames from Inspection.
func (s *Snapshot) prepare() {
	st := s.Inspection.Status
	pairs := []string{
		st.Dir, "<session>", "pipeline-runs/" + st.Session + "/", "pipeline-runs/<session>/", "progress-" + st.Session + ".", "progress-<session>.",
	}
	if st.RunID != "" {
		pairs = append(pairs, st.RunID, "<run>")
	}
	s.ownNames = strings.NewReplacer(pairs...)
}

// normalize returns a text without the session's own names and without secrets.
func (s *Snapshot) normalize(text string) string { return s.Clean(s.ownNames.Replace(text)) }

// session describes the session as a whole.
func (s *Snapshot) session() Session {
	st, m := s.Inspection.Status, s.Inspection.Metrics
	one := Session{
		Session: st.Session, RunID: st.RunID, Status: st.Status, Crashed: st.Crashed, Running: st.Locked, Reason: s.normalize(st.Reason),
		Pipeline: s.Inspection.Plan.Pipeline.Name, StartedAt: st.StartedAt, Dir: st.Dir,
	}
	if st.Status != "completed" {
		one.Stage = st.Stage
	}
	if f := st.Failure; f != nil && st.Status == "failed" {
		one.Failure = f.ErrorType
		if f.Code != "" {
			one.Failure += " (" + f.Code + ")"
		}
	}
	if m != nil {
		one.Pipeline = cmp.Or(m.Pipeline, one.Pipeline)
		one.Iterations, one.Effort = m.Iterations, newEffort(m.Work, m.DurationMS)
	}
	return one
}

func newEffort(w timeline.Work, ms int64) Effort {
	return Effort{Attempts: w.Attempts, Retries: w.Retries + w.StageRetries, Tokens: event.Sum(w.Usage.InputTokens, w.Usage.OutputTokens), CostUSD: w.Usage.CostUSD, DurationMS: ms}
}

// facts returns the facts of each node by label, and the labels in plan order.
func (s *Snapshot) facts() (all map[string]*Facts, order []string) {
	all = map[string]*Facts{}
	stages := s.Inspection.Status.Stages
	for i := range stages {
		r := &stages[i]
		label := s.labels[r.Path]
		f := &Facts{Status: r.Status, Outcome: r.Outcome, Reason: s.normalize(r.Reason), Iterations: r.Iterations, Agents: s.agents[label]}
		if m := s.Inspection.Metrics.Stage(r.Path); m != nil {
			f.Visits, f.Iterations, f.Effort = m.Visits, m.Iterations, newEffort(m.Work, m.DurationMS)
		}
		if r.Kind == plan.KindParallel {
			f.Agents = s.blockAgents(label)
		}
		all[label], order = f, append(order, label)
	}
	return all, order
}

// blockAgents returns the agents of a block's stages, sorted, because they work at the same time.
func (s *Snapshot) blockAgents(block string) []string {
	var all []string
	for label, agents := range s.agents {
		if strings.HasPrefix(label, block+"/") {
			all = append(all, agents...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// describeVisit describes a visit of a node.
func (s *Snapshot) describeVisit(v engine.Visit) string {
	text := cmp.Or(s.labels[v.Path], v.Stage)
	if v.Visit > 1 {
		text += fmt.Sprintf(" (visit %d)", v.Visit)
	}
	if v.EndedAt == nil {
		return text + " has not ended"
	}
	text += " ended as " + cmp.Or(v.Outcome, v.Status)
	if v.To != "" {
		text += ", on to " + v.To
	}
	return text
}
