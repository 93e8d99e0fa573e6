package timeline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Timeline is the timeline of a session's latest run. It is not safe for concurrent use.
type Timeline struct {
	plan  *plan.Plan
	epoch int
	run
}

// run is the part of a timeline that a new run resets.
type run struct {
	began    time.Time
	latest   time.Time // of the last event
	events   int
	idleTime time.Duration

	visits  []*Visit
	last    map[string]*Visit // by path
	count   map[string]int    // visits in this run of the pipeline, by path
	started map[string]int    // visits in this run of the pipeline except those of skipped nodes, by path
	cycles  cycles

	loops     map[event.Location]*loop // by location without iteration
	questions map[string]*Question     // unanswered, by id
	failure   *Failure                 // the last failure

	unprotected bool // agents can sign as the user, see [event.KernelStartData]
}

// New returns an empty timeline of a session with the plan.
func New(p *plan.Plan) *Timeline {
	return &Timeline{plan: p, run: newRun(time.Time{})}
}

func newRun(began time.Time) run {
	return run{
		began: began, last: map[string]*Visit{}, count: map[string]int{}, started: map[string]int{}, cycles: cycles{},
		loops: map[event.Location]*loop{}, questions: map[string]*Question{},
	}
}

// Plan returns the plan of the session. The caller must not change it.
func (t *Timeline) Plan() *plan.Plan { return t.plan }

// Began returns the time of the run's first event.
func (t *Timeline) Began() time.Time { return t.began }

// Latest returns the time of the run's last event.
func (t *Timeline) Latest() time.Time { return t.latest }

// Name returns the id of the node at a path, "node <path>" if the plan has none, and "" for the session as a whole.
func (t *Timeline) Name(path string) string {
	if n := t.plan.Find(path); n != nil {
		return n.ID
	}
	if path == "" {
		return ""
	}
	return "node " + path
}

// Apply adds the next event. ok is false for an event of a fenced kernel, which is ignored. Data that cannot be decoded
// changes nothing.
func (t *Timeline) Apply(e event.Event) (entry Entry, ok bool) {
	if e.Epoch != 0 && e.Epoch < t.epoch {
		return Entry{}, false
	}
	t.epoch = max(t.epoch, e.Epoch)
	if e.Type == event.SessionStart {
		t.run = newRun(e.Time)
	}
	t.events++
	entry = Entry{Event: e, IsNewRun: e.Type == event.SessionStart}
	if e.Type == event.KernelStart && !t.latest.IsZero() {
		t.pause(e.Time.Sub(t.latest))
		if t.events > 2 { // the first kernel follows the start of the session
			entry.IdleSince = t.latest
		}
	}
	t.enter(e)
	entry.Location = t.location(e)
	entry.Name = t.Name(entry.Location.Node)
	t.addWork(&entry)
	t.addVisit(entry)
	t.latest = e.Time
	return entry, true
}

// enter counts the visits of nodes.
func (t *Timeline) enter(e event.Event) {
	if e.Type == event.RunStart { // the whole pipeline runs again, and its nodes are entered for the first time again
		clear(t.count)
		clear(t.started)
	}
	if e.Cursor == nil {
		return
	}
	path := e.Cursor.NodePath
	switch e.Type {
	case event.NodeRunStart: // the same for a pipeline of a top-level node; runs of deeper pipelines reset nothing
		if !strings.Contains(path, ".") {
			isInside := func(inner string, _ int) bool { return strings.HasPrefix(inner, path+".") }
			maps.DeleteFunc(t.count, isInside)
			maps.DeleteFunc(t.started, isInside)
		}
	case event.NodeStart:
		t.started[path]++
		maps.DeleteFunc(t.loops, func(at event.Location, _ *loop) bool { return event.Location{Node: path}.Contains(at) })
	}
}

// location returns the location of an event, from its key or else its cursor; the zero location is the session.
func (t *Timeline) location(e event.Event) event.Location {
	if _, at, _, ok := e.Key.Parse(); ok {
		return at
	}
	c := e.Cursor
	if c == nil {
		return event.Location{}
	}
	return event.Location{
		Node: c.NodePath, Visit: max(c.Visit, t.started[c.NodePath], 1), Run: max(c.Run, 1), Branch: c.Provider, Step: c.Step, Iteration: c.Iteration,
	}
}

// Visits returns copies of all visits of all nodes, in the order in which they began.
func (t *Timeline) Visits() []Visit {
	all := make([]Visit, 0, len(t.visits))
	for _, v := range t.visits {
		all = append(all, t.finished(v))
	}
	return all
}

// Last returns a copy of the latest visit of the node at a path.
func (t *Timeline) Last(path string) (Visit, bool) {
	v, ok := t.last[path]
	if !ok {
		return Visit{}, false
	}
	return t.finished(v), true
}

// finished returns a copy of a visit with its duration.
func (t *Timeline) finished(v *Visit) Visit {
	c := *v
	end := t.latest
	if c.EndedAt != nil {
		end = *c.EndedAt
	}
	c.DurationMS = max(0, (end.Sub(c.StartedAt) - c.idleTime).Milliseconds())
	return c
}

// pause excludes time in which no kernel held the session from the duration of the run and of its current visits.
func (t *Timeline) pause(d time.Duration) {
	t.idleTime += max(d, 0)
	for _, v := range t.visits {
		if v.EndedAt == nil {
			v.idleTime += max(d, 0)
		}
	}
}

// Totals returns the sums over all visits.
func (t *Timeline) Totals() Totals {
	sum := Totals{DurationMS: max(0, (t.latest.Sub(t.began) - t.idleTime).Milliseconds()), Cycles: []Cycle{}, Stages: []Stage{}}
	for _, edge := range slices.Sorted(maps.Keys(t.cycles)) {
		sum.Cycles = append(sum.Cycles, t.cycles[edge])
	}
	stages := map[string]*Stage{}
	for _, v := range t.Visits() {
		s := stages[v.Path]
		if s == nil {
			s = &Stage{Stage: v.Stage, Path: v.Path}
			stages[v.Path] = s
		}
		s.add(v)
	}
	for n := range t.plan.All() {
		s := stages[n.Path]
		if s == nil {
			continue
		}
		s.Kind = n.Kind
		if n.Policy != nil && n.Policy.Cost != nil {
			s.MaxTokens, s.MaxUSD = n.Policy.Cost.MaxTokens, n.Policy.Cost.MaxUSD
		}
		sum.Stages = append(sum.Stages, *s)
		if n.Kind != plan.KindPipeline { // the stages of an embedded pipeline have entries of their own
			sum.Visits += s.Visits
			sum.Work = sum.plus(s.Work)
		}
	}
	return sum
}
