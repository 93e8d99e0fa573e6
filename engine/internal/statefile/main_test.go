package statefile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// story passes a session's events to a writer.
type story struct {
	t       testing.TB
	plan    *plan.Plan
	writer  *statefile.Writer
	st      state.State
	now     time.Time
	events  []event.Event
	padding string // of summaries
}

func newStory(t testing.TB, d *store.Dir, p *plan.Plan) *story {
	return &story{t: t, plan: p, writer: statefile.New(d, p), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// begun returns a story of a pipeline that has begun, and the session's directory.
func begun(t testing.TB, p *plan.Plan) (*story, *store.Dir) {
	t.Helper()
	_, d := testkit.Session(t, t.TempDir(), "p2")
	s := newStory(t, d, p)
	s.begin("pipeline")
	return s, d
}

// append appends an event, one second after the previous event.
func (s *story) append(kind event.Type, place event.Location, key event.Key, data any) {
	s.t.Helper()
	var cursor *event.Cursor
	if place.Node != "" {
		cursor = place.Cursor()
	}
	e := event.New(kind, cursor, key, data)
	s.now = s.now.Add(time.Second)
	e.Seq, e.Time, e.Session, e.RunID, e.Epoch, e.Attempt = int64(len(s.events)+1), s.now, "p2", "PL-1", 1, 1
	s.events = append(s.events, e)
	s.st = testkit.Must(progress.Apply(s.plan, s.st, e))
	testkit.OK(s.t, s.writer.Update(e, s.st))
	s.writer.Sync()
}

func (s *story) begin(mode string) {
	s.t.Helper()
	s.append(event.SessionStart, event.Location{Node: "0"}, "", event.SessionStartData{Mode: mode, Pipeline: s.plan.Pipeline.Name, SchedulerVersion: progress.Version})
	s.append(event.KernelStart, event.Location{}, "", event.KernelStartData{PID: 1})
}

func (s *story) enter(node string) {
	s.t.Helper()
	s.append(event.NodeStart, event.Location{Node: node}, "", event.NodeStartData{Name: s.plan.Find(node).ID})
}

func (s *story) startIteration(node string, i int) {
	s.t.Helper()
	place := event.Location{Node: node, Visit: 1, Run: 1, Iteration: i}
	s.append(event.IterationStart, place, place.Key(event.KeyAttempt, 1), event.IterationStartData{Stage: s.plan.Find(node).ID})
}

func (s *story) iterate(node string, i int) {
	s.t.Helper()
	s.startIteration(node, i)
	place := event.Location{Node: node, Visit: 1, Run: 1, Iteration: i}
	in, out := int64(100), int64(10)
	s.append(event.IterationComplete, place, place.Key(event.KeyAttempt, 1), event.IterationCompleteData{
		Stage: s.plan.Find(node).ID, Decision: "continue", Summary: fmt.Sprintf("step %d of <%s> & more", i, node) + s.padding,
		FilesTouched: []string{"src/a.txt"}, Signals: event.Signals{Risk: "low"},
		Usage: &event.Usage{InputTokens: &in, OutputTokens: &out},
	})
	last := "continue"
	if i == s.plan.Find(node).Termination.Max() {
		last = "stop"
	}
	s.append(event.Decision, place, place.Key(event.KeyDecide, 1), event.DecisionData{Strategy: "fixed", Action: last, Reason: "counted"})
}

func (s *story) leave(node, to string) {
	s.t.Helper()
	s.append(event.NodeComplete, event.Location{Node: node}, "", event.NodeCompleteData{Name: s.plan.Find(node).ID, Status: "complete", Outcome: "success", To: to})
}

func twoStages() *plan.Plan {
	zero := 0.0
	fixed := func(n int) plan.Termination { return plan.Termination{"type": "fixed", "max": n} }
	return &plan.Plan{
		Version: plan.Version, Pipeline: plan.Pipeline{Name: "two"},
		Nodes: []plan.Node{
			{Path: "0", ID: "plan", Kind: plan.KindStage, Termination: fixed(2), Delay: &zero},
			{Path: "1", ID: "build", Kind: plan.KindStage, Termination: fixed(1), Delay: &zero},
		},
	}
}

// continued returns a writer that continues at the end of a journal.
func continued(d *store.Dir, p *plan.Plan, past []event.Event) *statefile.Writer {
	w := statefile.New(d, p)
	var st state.State
	for _, e := range past {
		if next, err := progress.Apply(p, st, e); err == nil {
			st = next
		}
		w.Replay(e, st)
	}
	return w
}
