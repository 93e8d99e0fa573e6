package progress

import (
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Guardrail is a limit of running time at the run's location. Its timer counts while a kernel holds the session: a
// pause or a crash postpones it. A timer that has fired stays in the state, marked, until the guarded work is over.
type Guardrail struct {
	Loc    event.Location // the guarded work: see [event.Location.Contains]
	Number int            // of its timer at that location: 2 for the run of an embedded pipeline, else 1
	Limit  *plan.Guardrails
}

// Key returns the key of the guardrail's timer.
func (g Guardrail) Key() event.Key { return g.Loc.Key(event.KeyTimer, g.Number) }

// BoundsRun reports whether the guardrail bounds the whole run.
func (g Guardrail) BoundsRun() bool { return g.Loc == event.Location{} }

// ActiveGuardrails returns the guardrails at the run's location, the widest first.
func ActiveGuardrails(p *plan.Plan, s state.State) []Guardrail {
	var all []Guardrail
	add := func(loc event.Location, number int, limit *plan.Guardrails) {
		if limit != nil {
			all = append(all, Guardrail{loc, number, limit})
		}
	}
	add(event.Location{}, 1, p.Pipeline.Guardrails)
	for i, c := range s.At + "." {
		path := s.At[:i]
		n, ns := p.Find(path), s.Nodes[path]
		if c != '.' || n == nil || ns.Status != state.NodeRunning {
			continue
		}
		loc := event.Location{Node: path, Visit: ns.Visit, Run: ns.Run}
		visit := loc
		if n.Kind == plan.KindPipeline && p.Embedder(path) == "" {
			visit.Run = s.Run // the nested runs are counted within a visit
		}
		add(visit, 1, n.Guardrails)
		if n.Plan != nil && path != s.At {
			add(loc, 2, n.Plan.Pipeline.Guardrails)
		}
		if n.Kind != plan.KindParallel {
			continue
		}
		for _, ref := range ns.ActiveLoops(path) {
			if stage := p.Find(ref.Location.Node); stage != nil {
				ref.Location.Iteration = 0
				add(ref.Location, 1, stage.Guardrails)
			}
		}
	}
	return all
}

// subject names the guarded work for messages.
func (g Guardrail) subject(p *plan.Plan) string {
	n := p.Find(g.Loc.Node)
	switch {
	case g.BoundsRun():
		return fmt.Sprintf("pipeline %q", p.Pipeline.Name)
	case n == nil: // the plan has no such node
		return g.Loc.Node
	case g.Number == 2:
		return fmt.Sprintf("pipeline %q in node %q", n.Plan.Pipeline.Name, n.ID)
	case g.Loc.Branch != "":
		return fmt.Sprintf("stage %q of provider %s", n.ID, g.Loc.Branch)
	default:
		return fmt.Sprintf("node %q", n.ID)
	}
}

// ReachedGuardrail returns the widest guardrail that has been reached and bounds the location.
func ReachedGuardrail(p *plan.Plan, s state.State, loc event.Location) (Guardrail, bool) {
	for _, g := range ActiveGuardrails(p, s) {
		if s.Timers[g.Key()].Reached != nil && g.Loc.Contains(loc) {
			return g, true
		}
	}
	return Guardrail{}, false
}

// Failure returns the failure of work beyond the guardrail: the limit, its source, the running time, and how to
// continue.
func (g Guardrail) Failure(p *plan.Plan, s state.State, loc event.Location) *event.FailureData {
	ran := g.Limit.Limit()
	if t := s.Timers[g.Key()]; t.Reached != nil {
		ran += max(0, t.Reached.Sub(t.Due))
	}
	resume, renewal := failure.Next("resume", s.Session), "resume, which renews its time"
	if g.BoundsRun() {
		resume = failure.Next("resume", s.Session, "--force")
		renewal = resume.String() + ", which renews its time"
	}
	d := &event.FailureData{
		Code: failure.IterationTimeout.Code(), ErrorType: string(failure.IterationTimeout), Iteration: loc.Iteration,
		Message: fmt.Sprintf("%s exceeded its max_runtime_seconds: it ran %s of %s (guardrails, %s)",
			g.subject(p), ran.Round(100*time.Millisecond), g.Limit.Limit(), g.Limit.Source),
		Remedy:        fmt.Sprintf("%s; or change the limit and start a new session: a session keeps its plan", renewal),
		ResumeCommand: resume.String(),
	}
	if n := StageAt(p, s, loc); n != nil {
		d.Node, d.Stage = n.ID, n.ID
	}
	return d
}
