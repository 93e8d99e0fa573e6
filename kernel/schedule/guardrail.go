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

// guardrail is a limit of running time that holds where the run is. Its timer counts while a kernel holds
// the session: a pause or a crash moves it on. A timer that has run out stays in the state, marked, until
// what it bounds is over.
type guardrail struct {
	loc    event.Location // what it bounds: see [event.Place.Holds]
	number int            // of its timer at that place: 1, of an embedded pipeline's runs 2
	limit  *plan.Guardrails
}

func (g guardrail) key() event.Key { return g.loc.Key(event.KeyTimer, g.number) }

// ofRun reports whether the guardrail bounds the whole run.
func (g guardrail) boundsRun() bool { return g.loc == event.Location{} }

// guardrails are those that hold where the run is, the widest first.
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
		for _, ref := range activeLoops(path, ns) {
			if stage := p.Find(ref.loc.Node); stage != nil {
				ref.loc.Iteration = 0
				add(ref.loc, 1, stage.Guardrails)
			}
		}
	}
	return all
}

// whose is what the guardrail bounds, for messages.
func (g guardrail) subject(p *plan.Plan) string {
	n := p.Find(g.loc.Node)
	switch {
	case g.boundsRun():
		return fmt.Sprintf("pipeline %q", p.Pipeline.Name)
	case n == nil: // the plan that the guardrail is from has it
		return g.loc.Node
	case g.number == 2:
		return fmt.Sprintf("pipeline %q in node %q", n.Plan.Pipeline.Name, n.ID)
	case g.loc.Branch != "":
		return fmt.Sprintf("stage %q of provider %s", n.ID, g.loc.Branch)
	default:
		return fmt.Sprintf("node %q", n.ID)
	}
}

// armGuardrails sets the timer of a guardrail that has none yet.
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

// heeding are the commands that are due, with those that cancel what is under way beyond a guardrail. Whether
// a strategy is at work the state does not show: where none is, the decision is made for it.
func enforceGuardrails(p *plan.Plan, s state.State, due []Command) []Command {
	if !s.Guarded() {
		return due
	}
	var cmds []Command
	for _, ref := range activeLoops(s.At, s.Nodes[s.At]) {
		g, reached := reachedGuardrail(p, s, ref.loc)
		if !reached {
			continue
		}
		d := g.failure(p, s, ref.loc)
		if ref.loop.Gate.Firing > 0 {
			continue
		}
		if key, busy := pendingEffect(ref); busy {
			cmds = append(cmds, Command{Kind: Cancel, Key: key, Location: ref.loc, Cause: d})
		}
		cmds = append(cmds, cancelChecks(due, ref, d)...)
		if ref.loop.Phase != state.PhaseDecide {
			continue
		}
		key := ref.loc.Key(event.KeyDecide, ref.loop.Round+1)
		due = slices.DeleteFunc(due, func(c Command) bool { return c.Key == key })
		cmds = append(cmds, Command{Kind: Cancel, Key: key, Location: ref.loc, Cause: d})
		cmds = append(cmds, record(event.New(event.Decision, ref.loc.Cursor(), key, event.DecisionData{Action: "error", Reason: d.Message, Failure: d}))...)
	}
	return append(cmds, due...)
}

// cancelChecks cancels the check of a loop that is being made, of those that are due.
func cancelChecks(due []Command, ref loopRef, cause *event.FailureData) []Command {
	if ref.loop.Phase != state.PhaseEnter && ref.loop.Phase != state.PhaseMeasure {
		return nil
	}
	var cmds []Command
	for _, c := range due {
		if c.Kind == Check && c.Location.Node == ref.loc.Node && c.Location.Branch == ref.loc.Branch {
			cmds = append(cmds, Command{Kind: Cancel, Key: c.Key, Location: ref.loc, Cause: cause})
		}
	}
	return cmds
}

// reachedAt is the widest guardrail that has been reached and bounds the place.
func reachedGuardrail(p *plan.Plan, s state.State, loc event.Location) (guardrail, bool) {
	for _, g := range activeGuardrails(p, s) {
		if s.Timers[g.key()].Reached != nil && g.loc.Holds(loc) {
			return g, true
		}
	}
	return guardrail{}, false
}

// failure says which limit was reached, where it was set, how long the work took, and how to go on.
func (g guardrail) failure(p *plan.Plan, s state.State, loc event.Location) *event.FailureData {
	ran := g.limit.Limit()
	if t := s.Timers[g.key()]; t.Reached != nil {
		ran += max(0, t.Reached.Sub(t.Due))
	}
	resume, anew := "agent-pipelines resume "+s.Session, "resume, which gives it the time anew"
	if g.boundsRun() {
		resume += " --force"
		anew = resume + ", which gives it the time once more"
	}
	d := &event.FailureData{
		Code: failure.IterationTimeout.Code(), ErrorType: string(failure.IterationTimeout), Iteration: loc.Iteration,
		Message: fmt.Sprintf("%s has used up its max_runtime_seconds: it ran %s of %s (guardrails, %s)",
			g.subject(p), ran.Round(100*time.Millisecond), g.limit.Limit(), g.limit.At),
		Remedy:        fmt.Sprintf("%s; or change the number and start anew: a session keeps its plan", anew),
		ResumeCommand: resume,
	}
	if n := StageAt(p, s, loc); n != nil {
		d.Node, d.Stage = n.ID, n.ID
	}
	return d
}

// Overrun is why what is under way beyond a guardrail is cancelled: a [failure.Error] by its chain.
type Overrun struct{ Failure *event.FailureData }

// Error is the message alone.
func (o *Overrun) Error() string { return o.Failure.Message }

// Unwrap is the failure as an error.
func (o *Overrun) Unwrap() error {
	return failure.New(failure.Kind(o.Failure.ErrorType), "%s", o.Failure.Message).WithHint("%s", o.Failure.Remedy)
}

// Reached says of a guardrail's timer that has run out what that means, nil for any other key.
func Reached(p *plan.Plan, s state.State, key event.Key) *event.FailureData {
	for _, g := range activeGuardrails(p, s) {
		if g.key() == key && s.Timers[key].Reached != nil {
			return g.failure(p, s, g.loc)
		}
	}
	return nil
}

// UsedUp says why a run that rests can only go on if its guardrail is renewed, nil if it can without.
func UsedUp(p *plan.Plan, s state.State) *event.FailureData {
	if s.Status == state.Running {
		return nil
	}
	return Reached(p, s, guardrail{number: 1}.key())
}

// ---- Apply

// applyReached marks a guardrail's timer as run out.
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

// heedGuardrails is what every event means for the guardrails: their timers stand still while nobody works,
// end with what they bound, and one that has run out fails the work that nothing has to be waited for.
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
	if n, ok := s.Nodes[s.At]; ok && n.Status == state.NodeRunning && n.Gate.Firing == 0 {
		updateLoops(s.At, &n, func(loc event.Location, l state.Loop) state.Loop {
			if l.Gate.Firing > 0 || n.Branches[loc.Branch].Gate.Firing > 0 { // a hook has its own time (REQUIREMENTS U249)
				return l
			}
			next := settleOverrun(p, before, *s, e, loc, l)
			if next.Phase == state.PhaseSettled && before.LoopAt(loc).Phase != state.PhaseSettled { // nobody waits for their answers
				dropQuestions(s, inLoop(loc))
			}
			return next
		})
		s.Nodes[s.At] = n
	}
	return nil
}

// wake moves the timers on by the time that nobody worked, which ends with the event. Who resumes a run that
// rested gives what was reached its time anew, but the run itself only if they said so.
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

// overrun settles a loop beyond a guardrail, once nothing of it is under way and nobody has to be asked. An
// attempt or a decision that ends badly after the guardrail was reached was cancelled for it.
func settleOverrun(p *plan.Plan, before, s state.State, e event.Event, loc event.Location, l state.Loop) state.Loop {
	g, reached := reachedGuardrail(p, s, loc)
	was := before.LoopAt(loc)
	attempt := e.Type == event.Error && was.Phase == state.PhaseAttempt
	switch l.Phase {
	case state.PhaseEnter, state.PhaseAttempt, state.PhaseSteps, state.PhaseMeasure, state.PhaseSettle, state.PhaseAsking, state.PhaseDecide, state.PhaseCutOff:
		return l
	case state.PhaseSettled:
		decision := e.Type == event.Decision && was.Phase == state.PhaseDecide && l.Failure != nil
		reached = reached && (attempt || decision)
	}
	if !reached {
		return l
	}
	d := g.failure(p, s, loc)
	if attempt { // whose own event has told of it
		d.Attempt = was.Attempt
	}
	settleFailed(&l, d)
	l.Round, l.Question, l.Answer = 0, nil, nil
	l.Outcome = string(plan.OutcomeTimeout)
	return l
}
