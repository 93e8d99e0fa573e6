package progress

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// applyLoop applies an event of an iteration loop of the running node. The event's key must be the key that the loop
// waits for; any other event is a late delivery.
func applyLoop(p *plan.Plan, s *state.State, e event.Event) error {
	_, loc, _, ok := e.Key.Parse()
	if !ok {
		return invalidTransition(e, fmt.Sprintf("key %q has no location", e.Key))
	}
	n, ns := StageAt(p, *s, loc), s.Nodes[loc.Outer()]
	ref, ok := ns.FindLoop(loc)
	if n == nil || !ok || loc.Outer() != s.At || ns.Status != state.NodeRunning {
		return invalidTransition(e, "the run is not at "+loc.Node)
	}
	l := ref.Loop
	le := loopEvent{Event: e, plan: p, state: s, node: n, loop: &l, current: ref.Location, loc: loc}
	if err := le.apply(); err != nil {
		return err
	}
	result := decodeAttemptResult(e)
	le.accountUsage(ref.Loop, result.Usage)
	ns.SetLoop(loc, l)
	if l.Phase == state.PhaseSteps && ns.Order != nil { // a pass without pending steps
		endPass(n, &ns)
	}
	if attemptEnded(e) {
		if e.Type != event.Error {
			ns.Output = result.Output
			if st, isStep := ns.Steps[loc.Step]; isStep {
				st.Output = ns.Output
				ns.Steps[loc.Step] = st
			}
		}
		if loc.Branch == "" && e.Type != event.Error { // in a block the context is for every provider: see applyBranchComplete
			s.ConsumeContext(ref.Loop.ContextConsumed)
		}
		// The attempt no longer asks questions.
		s.DropQuestions(func(q state.Question) bool { return q.Kind == event.QuestionTool && q.Key == e.Key })
	}
	if e.Type == event.IterationComplete && loc.Branch == "" && result.Artifact != nil {
		ns.SetArtifact(event.Artifact, *result.Artifact)
	}
	if loc.Branch != "" {
		nextBranchStage(p.Find(s.At), &ns, loc.Branch)
	}
	s.Nodes[s.At] = ns
	return nil
}

// apply changes the loop by the event.
func (e loopEvent) apply() error {
	switch e.Type {
	case event.IterationStart, event.AttemptStart, event.Retry:
		return e.applyAttemptStart()
	case event.AttemptComplete:
		return decode(e.Event, e.applyAttemptComplete)
	case event.CheckResult:
		return decode(e.Event, e.applyCheckResult)
	case event.IterationComplete:
		return decode(e.Event, e.applyIterationComplete)
	case event.Error:
		return decode(e.Event, e.applyAttemptError)
	case event.ToolCall, event.ToolResult, event.Checkpoint:
		return decode(e.Event, e.applyToolEvent)
	case event.Decision:
		return decode(e.Event, e.applyDecision)
	case event.StrategyQuestion:
		return e.expect(state.PhaseQuestion, e.current.Key(event.KeyQuestion, e.loop.Round+1), func(l *state.Loop) { l.Phase = state.PhaseAsking })
	case event.StrategyAnswer:
		return decode(e.Event, e.applyStrategyAnswer)
	default:
		return invalidTransition(e.Event, "not an event of a loop")
	}
}

// attemptEnded reports whether the event ends an attempt. Its iteration may still have to be settled.
func attemptEnded(e event.Event) bool {
	switch e.Type {
	case event.AttemptComplete, event.IterationComplete, event.Error:
		return e.Key.Kind() == event.KeyAttempt
	default:
		return false
	}
}

// attemptResult holds the fields shared by the events that end an attempt, a question or an iteration.
type attemptResult struct {
	// Output is the agent's output.
	Output *event.Ref `json:"output"`
	// Usage is the consumption, nil for none. Failed attempts consume too.
	Usage *event.Usage `json:"usage"`
	// Artifact is the iteration's artifact for other nodes.
	Artifact *event.Ref `json:"artifact"`
}

// decodeAttemptResult returns the zero value for events that end nothing.
func decodeAttemptResult(e event.Event) attemptResult {
	switch e.Type {
	case event.IterationComplete, event.Error, event.AttemptComplete, event.StrategyAnswer:
		d, _ := event.Decode[attemptResult](e) // apply has decoded it already
		if e.Key.Kind() == event.KeySettle && e.Type != event.AttemptComplete {
			d.Usage = nil // the settlement repeats the usage of its attempt
		}
		return d
	default:
		return attemptResult{}
	}
}
