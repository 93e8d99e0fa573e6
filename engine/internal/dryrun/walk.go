package dryrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxCommands bounds a walk, because a plan may have a thousand million iterations.
const maxCommands = 20_000

// Outcome is the assumed result of every iteration of a node.
type Outcome string

// The outcomes that can be assumed.
const (
	Success Outcome = "success" // the default
	Fail    Outcome = "fail"    // every attempt fails for good; under a contract, the outcome is fail
	Retry   Outcome = "retry"   // the first attempt fails, the second succeeds
	Stop    Outcome = "stop"    // the agent says stop
	Error   Outcome = "error"   // the agent reports an error
	// These need a contract: with Reject a reviewer rejects, with Escalate the user must decide.
	Reject   Outcome = "reject"
	Escalate Outcome = "escalate"
	// Skip means that the condition skip_when holds. It needs a node with skip_when.
	Skip Outcome = "skip"
)

// Outcomes are the outcomes that can be assumed.
var Outcomes = []string{string(Success), string(Fail), string(Retry), string(Stop), string(Error), string(Reject), string(Escalate), string(Skip)}

// AppliesTo reports whether an outcome can be assumed of a node.
func (o Outcome) AppliesTo(n *plan.Node) bool {
	switch o {
	case Reject, Escalate:
		return n.HasContract()
	case Skip:
		return n.SkipWhen != ""
	default:
		return true
	}
}

// Step is one visit of a node.
type Step struct {
	Node string `json:"node"` // path
	ID   string `json:"id"`
	// Run is the number of the run of the whole pipeline, 0 if the pipeline runs once.
	Run int `json:"run,omitempty"`
	// Iterations is the number of iterations that would run. For a parallel block it includes those of all providers.
	Iterations int `json:"iterations"`
	// Attempts is the number of attempts for these iterations.
	Attempts int `json:"attempts"`
	// Waiting is the sum of the delays between iterations and before retries, in nanoseconds. For a parallel block it
	// is the sum over the providers, which wait in parallel.
	Waiting time.Duration `json:"waiting_ns"`
	Outcome string        `json:"outcome"` // "" if the path ends inside the visit
	Reason  string        `json:"reason,omitempty"`
	To      string        `json:"to,omitempty"` // path of the next node, or done, failed, abort
	// Edge is the name of the counted edge that leads to To, Cycle its count and Limit its limit.
	Edge  string `json:"edge,omitempty"`
	Cycle int    `json:"cycle,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// Path lists the steps through a plan.
type Path struct {
	Steps  []Step       `json:"steps"`
	Status state.Status `json:"status"` // the run's status at its end
	Reason string       `json:"reason,omitempty"`
	// CutOff reports that the path is longer than Steps.
	CutOff bool `json:"cut_off,omitempty"`
	// End is the state at the end of the path.
	End state.State `json:"-"`
}

// Simulate drives the scheduler through the plan from the given start. assumed holds outcomes by node id; other nodes
// succeed.
func Simulate(p *plan.Plan, session string, start event.SessionStartData, assumed map[string]Outcome) (Path, error) {
	w := walker{plan: p, session: session, assumed: assumed}
	if err := w.walk(start); err != nil {
		return Path{}, err
	}
	return Path{Steps: w.steps, Status: w.state.Status, Reason: cmp.Or(w.state.PauseReason, w.state.Reason), CutOff: w.cutOff, End: w.state}, nil
}

// walker is a runtime without effects: it answers the scheduler's commands with the assumed
// outcomes.
type walker struct {
	plan    *plan.Plan
	session string
	assumed map[string]Outcome
	state   state.State
	steps   []Step
	cutOff  bool
}

func (w *walker) walk(start event.SessionStartData) error {
	if err := w.commit(event.New(event.SessionStart, nil, "", start)); err != nil {
		return err
	}
	kernel := event.New(event.KernelStart, nil, "", event.KernelStartData{})
	kernel.Epoch = 1
	if err := w.commit(kernel); err != nil {
		return err
	}
	for range maxCommands {
		went, err := w.step()
		if err != nil || !went {
			return err
		}
	}
	w.cutOff = true
	return nil
}

// step performs the scheduler's first command, or else fires the first timer. It returns false at the
// end.
func (w *walker) step() (bool, error) {
	if cmds := schedule.Decide(w.plan, w.state); len(cmds) > 0 {
		return true, w.perform(cmds[0])
	}
	var waits []event.Key
	for key, t := range w.state.Timers {
		if t.Purpose != state.PurposeGuardrail { // no guardrail expires here
			waits = append(waits, key)
		}
	}
	if len(waits) == 0 {
		return false, nil
	}
	return true, w.commit(event.Event{Type: event.TimerFired, Key: slices.Min(waits)})
}

// perform commits the command's event and answers it at once.
func (w *walker) perform(c schedule.Command) error {
	if c.Event != nil {
		if err := w.commit(*c.Event); err != nil {
			return err
		}
	}
	if c.Kind == schedule.Record {
		return nil
	}
	typ, data, err := w.answer(c)
	if err != nil {
		return err
	}
	e := event.New(typ, c.Location.Cursor(), c.Key, data)
	e.Attempt = c.Attempt
	return w.commit(e)
}

// answer returns the event that answers a command.
func (w *walker) answer(c schedule.Command) (event.Type, any, error) {
	switch c.Kind {
	case schedule.Attempt:
		typ, data := w.attempt(c)
		return typ, data, nil
	case schedule.Strategy:
		d, err := w.decision(c)
		return event.Decision, d, err
	case schedule.WriteManifest:
		return event.ArtifactWritten, event.ArtifactWrittenData{Name: event.Manifest}, nil
	case schedule.Hook: // the result of a hook is unknown: the path assumes that the run continues
		return event.HookSkipped, event.HookSkippedData{Hook: c.Hook, Point: string(c.Point), Reason: "previewed"}, nil
	case schedule.Check:
		return event.CheckResult, w.check(c), nil
	case schedule.Settle:
		if n := w.stage(c.Location); n.Kind == plan.KindPipeline {
			return event.ArtifactWritten, event.ArtifactWrittenData{Name: event.Artifact}, nil
		}
		return event.IterationComplete, w.complete(c), nil
	case schedule.Inspect:
		return event.InputChecked, w.inspect(c), nil
	case schedule.PlanSteps: // one step, since their number is unknown
		return event.StepsPlanned, event.StepsPlannedData{Steps: []event.StepData{{ID: "step"}}}, nil
	default:
		return "", nil, fmt.Errorf("preview: no answer to a command of kind %s is known", c.Kind)
	}
}

// stage returns the node at a location, and a stage of a block as its provider runs it. It is an empty node if there
// is none.
func (w *walker) stage(at event.Location) *plan.Node {
	if n := progress.StageAt(w.plan, w.state, at); n != nil {
		return n
	}
	return &plan.Node{}
}

// outcome returns the assumed outcome of a location: of its stage, or else of the block around it.
func (w *walker) outcome(at event.Location) Outcome {
	if o, found := w.assumed[w.stage(at).ID]; found {
		return o
	}
	if outer := w.plan.Find(at.Outer()); outer != nil {
		return w.assumed[outer.ID]
	}
	return Success
}

func (w *walker) attempt(c schedule.Command) (event.Type, any) {
	n, o := w.stage(c.Location), w.outcome(c.Location)
	if o == Fail && !n.HasContract() || o == Retry && c.Attempt == 1 {
		return event.Error, event.FailureData{
			Code: failure.ProviderCrashed.Code(), ErrorType: string(failure.ProviderCrashed), Message: "assumed to fail",
			Node: n.ID, Stage: n.ID, Iteration: c.Location.Iteration, Attempt: c.Attempt, Retryable: o == Retry,
		}
	}
	decision, agent, reason := "continue", "", ""
	if o == Stop || o == Error {
		decision, agent, reason = string(o), string(o), "assumed to say "+string(o)
	}
	if n.HasContract() && c.Location.Step == "" && o != Error { // the node's outcome is settled afterwards
		return event.AttemptComplete, event.AttemptCompleteData{Decision: decision, AgentDecision: agent}
	}
	return event.IterationComplete, event.IterationCompleteData{Decision: decision, AgentDecision: agent, Reason: reason, Stage: n.ID}
}

// decision returns the decision of a strategy. The built-in strategies, fixed and checks, decide themselves; every
// other strategy is assumed to stop as soon as it may.
func (w *walker) decision(c schedule.Command) (event.DecisionData, error) {
	n, loop := w.stage(c.Location), w.state.LoopAt(c.Location)
	d := event.DecisionData{Strategy: n.Termination.Type(), Action: string(sdk.DecisionContinue), Round: c.Round}
	var own sdk.Termination
	switch d.Strategy {
	case plan.TypeFixed:
		own = termination.Fixed{}
	case plan.TypeChecks:
		own = termination.Checks{}
	default:
		if loop.CountedIterations() > 0 && loop.CountedIterations() >= n.Termination.MinIterations() {
			d.Action, d.Reason = string(sdk.DecisionStop), "assumed to say stop"
		}
		return d, nil
	}
	config, err := json.Marshal(n.Termination)
	if err != nil {
		return d, fmt.Errorf("read the termination of %s: %w", n.ID, err)
	}
	decision, err := own.Decide(context.Background(), sdk.DecideRequest{
		Iteration: loop.CountedIterations(), Max: n.Termination.Max(), Hint: loop.Hint, Config: config, Checks: measured(loop),
	})
	d.Action, d.Reason = string(decision.Action), decision.Reason
	return d, err
}

// commit numbers an event as a journal does, applies it and adds it to the step of its visit. Events have no time.
func (w *walker) commit(e event.Event) error {
	e.Seq, e.Session, e.RunID = w.state.Seq+1, w.session, "preview"
	e.Epoch = cmp.Or(e.Epoch, w.state.Epoch)
	next, err := progress.Apply(w.plan, w.state, e)
	if err != nil {
		return fmt.Errorf("preview: %w", err)
	}
	w.state = next
	return w.note(e)
}

// note adds an event to the step of its visit.
func (w *walker) note(e event.Event) error {
	if e.Type == event.NodeStart {
		step := Step{Node: e.Cursor.NodePath, Run: w.state.Run}
		if n := w.plan.Find(step.Node); n != nil {
			step.ID = n.ID
		}
		w.steps = append(w.steps, step)
	}
	step := w.open(e)
	if step == nil {
		return nil
	}
	switch e.Type {
	case event.IterationStart:
		if e.Cursor.Step == "" {
			step.Iterations++
		}
		if n := w.plan.Find(step.Node); e.Cursor.Step != "" || n == nil || n.Steps == nil { // a node with steps calls no agent itself
			step.Attempts++
		}
	case event.Retry:
		d, err := event.Decode[event.RetryData](e)
		if d.Rung != event.RungStage {
			step.Attempts++
		}
		return err
	case event.TimerSet:
		d, err := event.Decode[event.TimerSetData](e)
		if d.Purpose != state.PurposeGuardrail {
			step.Waiting += d.After
		}
		return err
	case event.NodeComplete:
		d, err := event.Decode[event.NodeCompleteData](e)
		step.Outcome, step.Reason, step.To = d.Outcome, d.Reason, d.To
		step.Edge, step.Cycle, step.Limit = d.Edge, d.Cycle, d.Limit
		return err
	}
	return nil
}

// open returns the visit that an event belongs to, which is the newest visit of its node. It is nil for events
// without a node.
func (w *walker) open(e event.Event) *Step {
	if e.Cursor == nil {
		return nil
	}
	for i := len(w.steps) - 1; i >= 0; i-- {
		if w.steps[i].Node == e.Cursor.NodePath {
			return &w.steps[i]
		}
	}
	return nil
}

// Nodes with a contract are assumed to pass their checks and to write valid artifacts, unless another outcome is
// assumed.

// check answers a check. Checks at the exit of a node that is assumed to fail do not pass.
func (w *walker) check(c schedule.Command) event.CheckResultData {
	d := event.CheckResultData{ID: c.Check, Passed: true}
	for _, check := range w.stage(c.Location).Checks {
		if check.ID != c.Check {
			continue
		}
		var config struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(check.Config, &config) // other values have no type
		d.Type, d.At = config.Type, cmp.Or(check.At, plan.AtExit)
		d.Skipped, d.Reason = check.SkipReason != "", check.SkipReason
	}
	if !d.Skipped && d.At == plan.AtExit && w.outcome(c.Location) == Fail {
		d.Passed, d.Reason = false, "assumed to fail"
	}
	return d
}

// inspect answers the check of a node's inputs. The content of a future artifact is unknown. The path assumes that
// the artifact is valid, and that only nodes with the assumed outcome skip are skipped.
func (w *walker) inspect(c schedule.Command) (d event.InputCheckedData) {
	if n := w.plan.Find(c.Location.Node); n != nil && w.assumed[n.ID] == Skip {
		d.Skip, d.Reason = true, "assumed to be skipped"
	}
	return d
}

// complete returns the end of an iteration with the assumed outcome of its node.
func (w *walker) complete(c schedule.Command) event.IterationCompleteData {
	d := event.IterationCompleteData{Decision: "continue", Stage: w.stage(c.Location).ID}
	d.Outcome = string(plan.OutcomeSuccess)
	switch o := w.outcome(c.Location); o {
	case Fail, Reject, Escalate:
		d.Outcome, d.Message = string(o), "assumed to "+string(o)
	case Stop:
		d.Decision, d.AgentDecision, d.Reason = string(Stop), string(Stop), "assumed to say stop"
	}
	return d
}

// measured returns the check results of an iteration as a strategy receives them.
func measured(l state.Loop) []json.RawMessage {
	var checks []json.RawMessage
	for _, m := range l.Measured {
		if raw, err := json.Marshal(termination.MeasuredCheck{ID: m.ID, At: m.At, Passed: m.Passed, Reason: m.Reason, LeftOut: m.Skipped}); err == nil {
			checks = append(checks, raw)
		}
	}
	return checks
}
