package schedule

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// guardrail is a limit of running time at the run's location. Its timer counts while a kernel holds the session: a
// pause or a crash postpones it. A timer that has fired stays in the state, marked, until the guarded work is over.
type guardrail struct {
	loc    event.Location // the guarded work: see [event.Location.Holds]
	number int            // of its timer at that location: 1, for an embedded pipeline's runs 2
	limit  *plan.Guardrails
}

func (g guardrail) key() event.Key { return g.loc.Key(event.KeyTimer, g.number) }

// boundsRun reports whether the guardrail bounds the whole run.
func (g guardrail) boundsRun() bool { return g.loc == event.Location{} }

// activeGuardrails returns the guardrails at the run's location, the widest first.
func activeGuardrails(p *plan.Plan, s state.State) []guardrail {
	var all []guardrail
	add := func(loc event.Location, number int, limit *plan.Guardrails) {
		if limit != nil {
			all = append(all, guardrail{loc, number, limit})
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
			visit.Run = s.Run // its own runs count up within a visit
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
func (g guardrail) subject(p *plan.Plan) string {
	n := p.Find(g.loc.Node)
	switch {
	case g.boundsRun():
		return fmt.Sprintf("pipeline %q", p.Pipeline.Name)
	case n == nil: // the plan that sets the guardrail has it
		return g.loc.Node
	case g.number == 2:
		return fmt.Sprintf("pipeline %q in node %q", n.Plan.Pipeline.Name, n.ID)
	case g.loc.Branch != "":
		return fmt.Sprintf("stage %q of provider %s", n.ID, g.loc.Branch)
	default:
		return fmt.Sprintf("node %q", n.ID)
	}
}

// armGuardrails sets the first missing timer of a guardrail.
func armGuardrails(p *plan.Plan, s state.State) []Command {
	for _, g := range activeGuardrails(p, s) {
		if _, armed := s.Timers[g.key()]; armed {
			continue
		}
		var c *event.Cursor
		if !g.boundsRun() {
			c = g.loc.Cursor()
		}
		return record(event.New(event.TimerSet, c, g.key(), event.TimerSetData{Purpose: state.PurposeGuardrail, After: g.limit.Limit()}))
	}
	return nil
}

// enforceGuardrails adds to the due commands those that cancel work beyond a guardrail. The state does not show
// whether a strategy is working, so its decision is recorded as an error as well.
func enforceGuardrails(p *plan.Plan, s state.State, due []Command) []Command {
	if !s.Guarded() {
		return due
	}
	var cmds []Command
	for _, ref := range s.Nodes[s.At].ActiveLoops(s.At) {
		g, reached := reachedGuardrail(p, s, ref.Location)
		if !reached {
			continue
		}
		d := g.failure(p, s, ref.Location)
		if ref.Loop.HookCursor.Firing > 0 {
			continue
		}
		if key, busy := ref.PendingEffect(); busy {
			cmds = append(cmds, Command{Kind: Cancel, Key: key, Location: ref.Location, Cause: d})
		}
		cmds = append(cmds, cancelChecks(due, ref, d)...)
		if ref.Loop.Phase != state.PhaseDecide {
			continue
		}
		key := ref.Location.Key(event.KeyDecide, ref.Loop.Round+1)
		due = slices.DeleteFunc(due, func(c Command) bool { return c.Key == key })
		cmds = append(cmds, Command{Kind: Cancel, Key: key, Location: ref.Location, Cause: d})
		cmds = append(cmds, record(event.New(event.Decision, ref.Location.Cursor(), key, event.DecisionData{Action: "error", Reason: d.Message, Failure: d}))...)
	}
	return append(cmds, due...)
}

// cancelChecks returns cancel commands for the checks of the loop among those that are due.
func cancelChecks(due []Command, ref state.LoopRef, cause *event.FailureData) []Command {
	if ref.Loop.Phase != state.PhaseEnter && ref.Loop.Phase != state.PhaseMeasure {
		return nil
	}
	var cmds []Command
	for _, c := range due {
		if c.Kind == Check && c.Location.Node == ref.Location.Node && c.Location.Branch == ref.Location.Branch {
			cmds = append(cmds, Command{Kind: Cancel, Key: c.Key, Location: ref.Location, Cause: cause})
		}
	}
	return cmds
}

// reachedGuardrail returns the widest guardrail that has been reached and bounds the location.
func reachedGuardrail(p *plan.Plan, s state.State, loc event.Location) (guardrail, bool) {
	for _, g := range activeGuardrails(p, s) {
		if s.Timers[g.key()].Reached != nil && g.loc.Holds(loc) {
			return g, true
		}
	}
	return guardrail{}, false
}

// failure describes the limit that was reached, where it was set, how long the work took, and how to continue.
func (g guardrail) failure(p *plan.Plan, s state.State, loc event.Location) *event.FailureData {
	ran := g.limit.Limit()
	if t := s.Timers[g.key()]; t.Reached != nil {
		ran += max(0, t.Reached.Sub(t.Due))
	}
	resume, renewal := "agent-pipelines resume "+s.Session, "resume, which renews its time"
	if g.boundsRun() {
		resume += " --force"
		renewal = resume + ", which renews its time"
	}
	d := &event.FailureData{
		Code: failure.IterationTimeout.Code(), ErrorType: string(failure.IterationTimeout), Iteration: loc.Iteration,
		Message: fmt.Sprintf("%s exceeded its max_runtime_seconds: it ran %s of %s (guardrails, %s)",
			g.subject(p), ran.Round(100*time.Millisecond), g.limit.Limit(), g.limit.Source),
		Remedy:        fmt.Sprintf("%s; or change the limit and start a new session: a session keeps its plan", renewal),
		ResumeCommand: resume,
	}
	if n := StageAt(p, s, loc); n != nil {
		d.Node, d.Stage = n.ID, n.ID
	}
	return d
}

// GuardrailError is the cancellation cause of work beyond a guardrail. It unwraps to a [failure.Error].
type GuardrailError struct{ Failure *event.FailureData }

// Error returns the failure's message.
func (o *GuardrailError) Error() string { return o.Failure.Message }

// Unwrap returns the failure as a [failure.Error].
func (o *GuardrailError) Unwrap() error {
	return failure.New(failure.Kind(o.Failure.ErrorType), "%s", o.Failure.Message).WithHint("%s", o.Failure.Remedy)
}

// GuardrailFailure returns the failure of a guardrail whose timer has the key and has fired, nil for any other key.
func GuardrailFailure(p *plan.Plan, s state.State, key event.Key) *event.FailureData {
	for _, g := range activeGuardrails(p, s) {
		if g.key() == key && s.Timers[key].Reached != nil {
			return g.failure(p, s, g.loc)
		}
	}
	return nil
}

// RunGuardrailFailure returns why a stopped run can only continue if its guardrail is renewed, nil if it can without.
func RunGuardrailFailure(p *plan.Plan, s state.State) *event.FailureData {
	if s.Status == state.Running {
		return nil
	}
	return GuardrailFailure(p, s, guardrail{number: 1}.key())
}

// applyGuardrailReached marks a guardrail's timer as fired.
func applyGuardrailReached(s *state.State, e event.Event) error {
	t := s.Timers[e.Key]
	if t.Reached != nil {
		return invalidTransition(e, "that guardrail has been reached already")
	}
	now := e.Time
	t.Reached = &now
	s.Timers[e.Key] = t
	return nil
}

// updateGuardrails updates the guardrails after an event: their timers stand still while nobody works and end with
// the guarded work; a fired one fails the work that has nothing in flight.
func updateGuardrails(p *plan.Plan, before state.State, s *state.State, e event.Event) error {
	if err := shiftTimers(before.Status, s, e); err != nil {
		return err
	}
	holding := map[event.Key]bool{}
	if !s.Status.Final() {
		for _, g := range activeGuardrails(p, *s) {
			holding[g.key()] = true
		}
	}
	maps.DeleteFunc(s.Timers, func(key event.Key, t state.Timer) bool { return t.Purpose == state.PurposeGuardrail && !holding[key] })
	if before.Status == state.Running || s.Status == state.Running {
		s.AliveAt = e.Time
	}
	if !s.Guarded() {
		s.AliveAt = time.Time{}
		return nil
	}
	if n, ok := s.Nodes[s.At]; ok && n.Status == state.NodeRunning && n.HookCursor.Firing == 0 {
		n.UpdateLoops(s.At, func(loc event.Location, l *state.Loop) {
			if l.HookCursor.Firing > 0 || n.Branches[loc.Branch].HookCursor.Firing > 0 {
				return
			}
			settleOverrun(p, before, *s, e, loc, l)
			if l.Phase == state.PhaseSettled && before.LoopAt(loc).Phase != state.PhaseSettled {
				s.DropQuestions(func(q state.Question) bool { return q.FromLoopHook(loc) })
			}
		})

		s.Nodes[s.At] = n
	}
	return nil
}

// shiftTimers postpones the timers by the idle time that ends with the event. Resuming a stopped run renews the
// guardrails that were reached; that of the run itself only on request.
func shiftTimers(before state.Status, s *state.State, e event.Event) error {
	rested := before != state.Running && s.Status == state.Running
	if crashed := e.Type == event.KernelStart && before == state.Running; !rested && !crashed {
		return nil
	}
	d, err := event.Decode[event.SessionResumedData](e)
	if err != nil {
		return err
	}
	for key, t := range s.Timers {
		switch {
		case t.Purpose != state.PurposeGuardrail:
		case t.Reached == nil:
			t.Due = t.Due.Add(max(0, e.Time.Sub(s.AliveAt)))
			s.Timers[key] = t
		case rested && (d.Renew || key != guardrail{number: 1}.key()):
			delete(s.Timers, key)
		}
	}
	return nil
}

// settleOverrun settles a loop beyond a guardrail once nothing of it is in flight and no question is open. An attempt
// or a decision that fails after the guardrail was reached was cancelled for it.
func settleOverrun(p *plan.Plan, before, s state.State, e event.Event, loc event.Location, l *state.Loop) {
	g, reached := reachedGuardrail(p, s, loc)
	old := before.LoopAt(loc)
	attempt := e.Type == event.Error && old.Phase == state.PhaseAttempt
	switch l.Phase {
	case state.PhaseEnter, state.PhaseAttempt, state.PhaseSteps, state.PhaseMeasure, state.PhaseSettle, state.PhaseAsking, state.PhaseDecide, state.PhaseCutOff:
		return
	case state.PhaseSettled:
		decision := e.Type == event.Decision && old.Phase == state.PhaseDecide && l.Failure != nil
		reached = reached && (attempt || decision)
	}
	if !reached {
		return
	}
	d := g.failure(p, s, loc)
	if attempt { // its own event has reported it
		d.Attempt = old.Attempt
	}
	l.Fail(d)
	l.Round, l.Question, l.Answer = 0, nil, nil
	l.Outcome = string(plan.OutcomeTimeout)
}
