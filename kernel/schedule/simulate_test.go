package schedule_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// simulation is a simulated runtime: it performs commands with randomly drawn results.
type simulation struct {
	t        *rapid.T
	plan     *plan.Plan
	state    state.State
	journal  []event.Event
	states   []state.State // after each event of the journal
	clock    time.Time
	inFlight map[event.Key]schedule.Command // effects in flight
	begun    map[event.Key]bool             // hooks in flight whose action has begun
	resumed  map[event.Key]bool             // of these, the hooks during which the user continued the run
	crashes  int
	resumes  int
}

func start(t *rapid.T, p *plan.Plan) *simulation {
	s := &simulation{t: t, plan: p, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), inFlight: map[event.Key]schedule.Command{}, begun: map[event.Key]bool{}, resumed: map[event.Key]bool{}}
	e := event.New(event.SessionStart, nil, "", event.SessionStartData{
		Mode: "pipeline", SchedulerVersion: progress.Version, Runs: rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "whole runs"),
	})
	s.append(e)
	s.startKernel()
	return s
}

func (s *simulation) startKernel() {
	clear(s.inFlight)
	clear(s.begun)
	clear(s.resumed)
	e := event.New(event.KernelStart, nil, "", event.KernelStartData{Callbacks: drawCallbacks(s.t), Waits: rapid.IntRange(0, 2).Draw(s.t, "waits") == 0})
	e.Epoch = s.state.Epoch + 1
	s.append(e)
}

// append stamps the event as a journal does and applies it; the event must be valid.
func (s *simulation) append(e event.Event) {
	s.clock = s.clock.Add(time.Second)
	e.Time, e.Seq, e.Session, e.RunID = s.clock, s.state.Seq+1, "sim", "PL-1"
	if e.Epoch == 0 {
		e.Epoch = s.state.Epoch
	}
	next, err := progress.Apply(s.plan, s.state, e)
	if err != nil {
		s.t.Fatalf("apply %s %s: %v\nstate: %s", e.Type, e.Key, err, asJSON(s.state))
	}
	if next.Status != s.state.Status && s.state.Status != "" && e.Type != event.SessionStart && !s.state.Status.CanBecome(next.Status) {
		s.t.Fatalf("%s made %s of %s", e.Type, next.Status, s.state.Status)
	}
	s.state = next
	s.journal = append(s.journal, e)
	s.states = append(s.states, next)
}

// step performs a due command, ends an effect in flight or fires a timer. It returns false when the run rests.
func (s *simulation) step() bool {
	for _, c := range schedule.Decide(s.plan, s.state) {
		if _, busy := s.inFlight[c.Key]; busy != (c.Kind == schedule.Cancel) {
			continue
		}
		s.perform(c)
		return true
	}
	if len(s.inFlight) > 0 {
		s.finish()
		return true
	}
	if keys := s.timers(state.PurposeGuardrail, false); len(keys) > 0 {
		s.append(event.Event{Type: event.TimerFired, Key: s.drawKey(keys)})
		return true
	}
	return false
}

// timers returns the timers that have not fired: those with the purpose if isStep is set, else all others.
func (s *simulation) timers(purpose string, isStep bool) []event.Key {
	var keys []event.Key
	for key, t := range s.state.Timers {
		if t.Reached == nil && (t.Purpose == purpose) == isStep {
			keys = append(keys, key)
		}
	}
	return keys
}

func (s *simulation) perform(c schedule.Command) {
	if c.Event != nil {
		s.append(*c.Event)
	}
	switch c.Kind {
	case schedule.Attempt, schedule.Strategy, schedule.Question, schedule.WriteManifest, schedule.Hook,
		schedule.Check, schedule.Settle, schedule.PlanSteps, schedule.Inspect:
		s.inFlight[c.Key] = c
		s.checkCeilings()
	case schedule.Cancel:
		was := s.inFlight[c.Key]
		delete(s.inFlight, c.Key)
		delete(s.begun, c.Key)
		if c.Key.Kind() == event.KeyHook {
			if s.isSuperseded(was) {
				return
			}
			s.append(event.New(event.HookComplete, c.Location.Cursor(), c.Key, event.HookCompleteData{
				Hook: was.Hook, Point: string(was.Point), Answer: "pause", Failure: &event.FailureData{ErrorType: "aborted"},
			}))
			return
		}
		if was.Kind == schedule.Check {
			s.append(event.New(event.CheckResult, c.Location.Cursor(), c.Key, event.CheckResultData{ID: was.Check, Failure: c.Cause}))
			return
		}
		s.append(stoppedEvent(c))
	}
}

func stoppedEvent(c schedule.Command) event.Event {
	if c.Key.Kind() == event.KeyQuestion {
		return event.New(event.StrategyAnswer, c.Location.Cursor(), c.Key, event.StrategyAnswerData{Error: "aborted"})
	}
	if c.Key.Kind() == event.KeyDecide {
		return event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{Action: "error", Failure: c.Cause})
	}
	return event.New(event.Error, c.Location.Cursor(), c.Key, event.FailureData{ErrorType: "aborted", Message: "stopped"})
}

// drawKey draws one of the keys.
func (s *simulation) drawKey(keys []event.Key) event.Key {
	slices.Sort(keys)
	return rapid.SampledFrom(keys).Draw(s.t, "which")
}

// finish ends one of the effects in flight; the providers of a block have one each.
func (s *simulation) finish() {
	key := s.drawKey(slices.Collect(maps.Keys(s.inFlight)))
	c := s.inFlight[key]
	if c.Kind == schedule.Hook {
		s.finishHook(c, s.begun[key])
		return
	}
	delete(s.inFlight, key)
	if n := s.state.Nodes[c.Location.Outer()]; n.Visit != c.Location.Visit { // a late delivery: the stage has been restarted
		return
	}
	if s.finishContract(c) {
		return
	}
	switch c.Kind {
	case schedule.Attempt:
		s.askAboutTool(c)
		s.finishAttempt(c)
	case schedule.Strategy:
		s.append(event.New(event.Decision, c.Location.Cursor(), key, s.drawDecision(c)))
	case schedule.Question:
		s.append(event.New(event.StrategyAnswer, c.Location.Cursor(), key, event.StrategyAnswerData{Error: drawErrorType(s.t)}))
	case schedule.WriteManifest:
		s.append(event.New(event.ArtifactWritten, &event.Cursor{NodePath: c.Location.Node}, key, event.ArtifactWrittenData{Name: event.Manifest}))
	}
}

// drawErrorType draws the type of an error. It includes the types of a stop, because a plugin may report them without a
// stop.
func drawErrorType(t *rapid.T) string {
	return rapid.SampledFrom([]string{"provider_crashed", "signal_interrupt", "aborted"}).Draw(t, "error type")
}

func (s *simulation) finishAttempt(c schedule.Command) {
	ask := rapid.SampledFrom([]string{"continue", "continue", "continue", "stop", "error"}).Draw(s.t, "hint")
	e := event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{AgentDecision: ask, Usage: drawUsage(s.t)})
	if s.contractNode(c) != nil {
		e = event.New(event.AttemptComplete, c.Location.Cursor(), c.Key, event.AttemptCompleteData{AgentDecision: ask, Usage: drawUsage(s.t)})
	}
	if rapid.IntRange(0, 3).Draw(s.t, "fails") == 0 {
		e = event.New(event.Error, c.Location.Cursor(), c.Key, event.FailureData{
			ErrorType: drawErrorType(s.t), Message: "crashed", Retryable: rapid.Bool().Draw(s.t, "retryable"),
			Collateral: rapid.IntRange(0, 4).Draw(s.t, "collateral") == 0, Escalate: rapid.IntRange(0, 4).Draw(s.t, "escalate") == 0,
		})
	}
	e.Attempt = c.Attempt
	s.append(e)
}

// askAboutTool lets the attempt ask the user questions. None may stay open when the attempt ends.
func (s *simulation) askAboutTool(c schedule.Command) {
	for i := range rapid.IntRange(0, 3).Draw(s.t, "tool questions") / 2 {
		s.append(event.New(event.QuestionAsked, c.Location.Cursor(), c.Key, event.QuestionAskedData{
			ID: event.ToolQuestionID(c.Location, fmt.Sprint(i)), Kind: event.QuestionTool, Digest: "d", Text: "Run it?",
			Options: []string{"approve", "reject"}, AcceptFeedback: true,
		}))
		if rapid.Bool().Draw(s.t, "answered at once") {
			s.answerPerson()
		}
	}
}

func (s *simulation) drawDecision(c schedule.Command) event.DecisionData {
	d := event.DecisionData{Strategy: "drawn", Round: c.Round}
	d.Action = rapid.SampledFrom([]string{"continue", "continue", "stop", "ask", "error"}).Draw(s.t, "decision")
	if d.Action == "ask" {
		d.Question = &event.QuestionData{Provider: "mock"}
	}
	return d
}

// disturb draws a crash, a control message, an answer of the user, the timer of a guardrail, or nothing. The number of
// crashes is bounded.
func (s *simulation) disturb() {
	switch rapid.IntRange(0, 40).Draw(s.t, "disturbance") {
	case 0:
		if s.crashes++; s.crashes < 6 {
			s.startKernel()
			s.resume()
		}
	case 1:
		s.control("pause")
	case 2:
		if rapid.IntRange(0, 3).Draw(s.t, "abort") == 0 {
			s.control("abort")
		}
	case 4:
		s.answerPerson()
	case 3:
		if keys := s.timers(state.PurposeGuardrail, true); len(keys) > 0 && s.state.Status == state.Running {
			s.append(event.Event{Type: event.TimerFired, Key: s.drawKey(keys)})
		}
	}
}

func (s *simulation) control(action string) {
	s.append(event.New(event.Control, nil, "", event.ControlData{ID: fmt.Sprint("c", s.state.Seq), Action: action}))
}

func (s *simulation) resume() {
	if s.state.Status == state.Running || s.state.Status.CanBecome(state.Running) {
		s.append(event.New(event.SessionResumed, nil, "", event.SessionResumedData{Renew: rapid.Bool().Draw(s.t, "renew")}))
	}
}

// run drives the simulation until it rests for good; resting without a pause or an end is a deadlock.
func (s *simulation) run(limit int) {
	for range limit {
		s.disturb()
		if s.step() {
			continue
		}
		if (s.state.AwaitsUser() || rapid.Bool().Draw(s.t, "answered")) && s.answerPerson() {
			continue
		}
		if s.state.Status == state.Running {
			s.t.Fatalf("the run rests while it is running: %s", asJSON(s.state))
		}
		if s.state.Status.Final() || s.resumes >= 6 {
			return
		}
		s.resumes++
		s.startKernel()
		s.resume()
	}
	s.t.Fatalf("no end after %d transitions: %s", limit, asJSON(s.state))
}

func drawPlan(t *rapid.T) *plan.Plan {
	p := &plan.Plan{Version: plan.Version, Pipeline: plan.Pipeline{Guardrails: drawGuardrails(t), Hooks: drawHooks(t)}}
	for i := range rapid.IntRange(0, 4).Draw(t, "nodes") {
		n := drawStage(t, fmt.Sprint(i))
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			n = drawBlock(t, fmt.Sprint(i))
		case 1:
			n = drawEmbedded(t, fmt.Sprint(i), 2)
		}
		p.Nodes = append(p.Nodes, n)
	}
	drawContracts(t, p)
	if rapid.IntRange(0, 2).Draw(t, "escalations wait") == 0 {
		if p.Pipeline.Policy == nil {
			p.Pipeline.Policy = &plan.Policy{}
		}
		p.Pipeline.Policy.Escalation = &plan.Escalation{
			Wait: new(rapid.Bool().Draw(t, "wait")), Timeout: rapid.SampledFrom([]float64{0, 7}).Draw(t, "limit"),
			OnTimeout: rapid.SampledFrom([]string{"", "abort", "pause", "failed"}).Draw(t, "on timeout"),
		}
	}
	return p
}

// drawContracts adds contracts to stages of the list.
func drawContracts(t *rapid.T, p *plan.Plan) {
	var ids []string
	for _, n := range p.Nodes {
		ids = append(ids, n.ID)
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		switch n.Kind {
		case plan.KindStage:
			drawContract(t, n, ids)
			drawWraps(t, n)
			drawRequires(t, n)
		case plan.KindPipeline:
			drawWraps(t, n)
			drawRequires(t, n)
		case plan.KindParallel:
			drawRequires(t, n)
			for j := range n.Stages {
				drawContract(t, &n.Stages[j], nil)
			}
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "cost of the run") == 0 {
		p.Pipeline.Policy = &plan.Policy{Cost: drawCost(t)}
	}
}

// drawEmbedded draws a pipeline node; its plan has its own paths, like a compiled plan.
func drawEmbedded(t *rapid.T, path string, depth int) plan.Node {
	inner := &plan.Plan{Version: plan.Version, Pipeline: plan.Pipeline{Guardrails: drawGuardrails(t), Hooks: drawHooks(t)}}
	for i := range rapid.IntRange(0, 2).Draw(t, "embedded nodes") {
		n := drawStage(t, fmt.Sprint(i))
		switch rapid.IntRange(0, 3).Draw(t, "embedded kind") {
		case 0:
			n = drawBlock(t, fmt.Sprint(i))
		case 1:
			if depth > 1 {
				n = drawEmbedded(t, fmt.Sprint(i), depth-1)
			}
		}
		inner.Nodes = append(inner.Nodes, n)
	}
	drawContracts(t, inner)
	return plan.Node{Path: path, ID: "n" + path, Kind: plan.KindPipeline, Runs: rapid.IntRange(0, 3).Draw(t, "runs"), Plan: inner, Guardrails: drawGuardrails(t)}
}

func drawStage(t *rapid.T, path string) plan.Node {
	n := plan.Node{
		Path: path, ID: "n" + path, Kind: plan.KindStage,
		Termination: plan.Termination{"type": "drawn", "max": rapid.IntRange(1, 4).Draw(t, "max")},
		Guardrails:  drawGuardrails(t),
	}
	if rapid.IntRange(0, 3).Draw(t, "check before") == 0 {
		n.Termination["check_before"] = true
	}
	if rapid.Bool().Draw(t, "policy") {
		n.Policy = &plan.Policy{
			Retry:    &plan.Retry{Attempts: rapid.IntRange(1, 4).Draw(t, "attempts")},
			Recovery: rapid.SampledFrom([]plan.Recovery{"", plan.RecoveryRerun, plan.RecoveryAsk, plan.RecoveryFail}).Draw(t, "recovery"),
		}
	}
	return n
}

func drawGuardrails(t *rapid.T) *plan.Guardrails {
	if rapid.IntRange(0, 4).Draw(t, "guardrails") > 0 {
		return nil
	}
	return &plan.Guardrails{MaxRuntimeSeconds: 60, Source: "p.yaml:1:1"}
}

func drawBlock(t *rapid.T, path string) plan.Node {
	n := plan.Node{Path: path, ID: "n" + path, Kind: plan.KindParallel, Guardrails: drawGuardrails(t)}
	for i := range rapid.IntRange(1, 3).Draw(t, "providers") {
		n.Providers = append(n.Providers, plan.BlockProvider{Name: fmt.Sprint("p", i), As: rapid.SampledFrom([]string{"", fmt.Sprint("as", i)}).Draw(t, "as")})
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "stages") {
		n.Stages = append(n.Stages, drawStage(t, fmt.Sprintf("%s.%d", path, i)))
	}
	return n
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func isInvalidTransition(err error) bool { return errors.Is(err, progress.ErrInvalidTransition) }
