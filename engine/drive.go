package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/outcome"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/steps"
	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// pluginStop is how long plugins have to end when their session does.
const pluginStop = 5 * time.Second

// drive prepares the session, runs it to its end or its next rest, and closes it.
func (s *session) drive(ctx context.Context, observe func(Update), prepare func(context.Context) error) (_ *Result, err error) {
	defer func() { err = s.close(err) }()
	if observe != nil {
		s.observe = observe
	}
	control, done, err := s.engine.activate(s.name)
	if err != nil {
		return nil, err
	}
	defer done()
	s.watch()
	if err := prepare(ctx); err != nil {
		return nil, err
	}
	s.flushNotices()
	final, err := s.run(ctx, control)
	s.state = final
	if err != nil {
		return nil, err
	}
	done()
	if err := s.takeLeft(context.WithoutCancel(ctx), control); err != nil {
		return nil, err
	}
	return s.finish()
}

func (s *session) run(ctx context.Context, local <-chan event.Event) (state.State, error) {
	if err := s.takeMessages(ctx); err != nil {
		return s.state, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	messages, stop := s.listen(local, cancel)
	defer stop()
	reader := inputs.NewReader(s.dir, s.plan)
	maker := &attempt.Runner{
		Plan: s.plan, Project: s.engine.project, Dir: s.dir, Inputs: reader, Log: s.engine.log.Named("attempt"),
		Redactor:  s.redactor,
		Uncharged: spared,
		Finds:     &attempt.SecretDedup{},
		Accepted:  &attempt.PublishedFiles{},
		Began:     s.started, Contested: s.contested,
		Ready: s.view.Settle,
		Live:  func(r Report) { s.send(Update{Session: s.name, Report: &r, Plan: s.plan, Dir: s.dir.Path()}) },
	}
	defer maker.Restore(ctx, func(_ context.Context, e event.Event) error { s.note(e); return nil })
	return kernel.Run(ctx, kernel.Config{
		Plan: s.plan, Journal: s.journal, Control: messages, Observe: s.happened, Refused: s.refused,
		Effects: &effects{
			parts: s.components(), hooks: s.caller(),
			maker: maker, ready: s.view.Settle,
			asker: &termination.Asker{
				Plan: s.plan, Project: s.engine.project, Dir: s.dir, Inputs: reader, Log: s.engine.log.Named("strategy"),
				Redactor: s.redactor,
			},
			settler: &outcome.Evaluator{
				Plan: s.plan, Project: s.engine.project, Dir: s.dir, Actions: s.components(), Log: s.engine.log.Named("contract"),
				Redactor: s.redactor, Uncharged: spared,
			},
			planner: &steps.Planner{Plan: s.plan, Dir: s.dir},
			traces:  s.engine.config.traces,
		},
	}, s.state)
}

// spared reports whether a call failed because its process fell during another one.
func spared(err error) bool { return errors.Is(err, pluginhost.ErrCollateralFailure) }

// happened follows every event that was applied: the view, the inbox, whoever watches.
func (s *session) happened(e event.Event, st state.State) {
	if err := s.view.Update(e, st); err != nil {
		s.log.Warn("state.json is behind the journal", "error", err)
	}
	s.account.Apply(e)
	s.followEscalations(st)
	s.acknowledge(e)
	s.notifier.Observe(s.plan, e, st)
	s.send(Update{Session: s.name, Event: &e, State: &st, Plan: s.plan, Dir: s.dir.Path()})
	for _, warning := range budgetWarnings(s.plan, e, st) {
		s.note(event.New(event.BudgetWarning, e.Cursor, "", warning))
	}
	s.tellArtifacts(e, st)
	switch e.Type {
	case event.NodeComplete:
		s.derive(e, st)
	case event.SecretFound:
		s.found.take(e)
	case event.TimerFired, event.HookComplete, event.HookTimeout:
		s.overtime(e, st)
	}
}

// overtime journals that a guardrail's time is over: when it ran out, or after the hook that was called then
// (REQUIREMENTS U249).
func (s *session) overtime(e event.Event, st state.State) {
	if e.Type == event.TimerFired {
		s.reached = append(s.reached, e)
	}
	if schedule.Firing(st) {
		return
	}
	for _, fired := range s.reached {
		if d := schedule.Reached(s.plan, st, fired.Key); d != nil {
			s.note(event.New(event.StageTimeout, fired.Cursor, "", d))
		}
	}
	s.reached = nil
}

// derive journals what follows from a transition, for readers: they inform, and no fold needs them.
func (s *session) derive(e event.Event, st state.State) {
	d, err := event.Decode[event.NodeCompleteData](e)
	if err != nil {
		return
	}
	if f := d.Failure; f != nil && f.Attempt == 0 { // an attempt's failure has its own event
		told := event.New(event.Error, e.Cursor, "", f)
		told.Volatile = true
		s.note(told)
	}
	to := d.To
	if n := s.plan.Find(to); n != nil {
		to = n.ID
	}
	s.note(event.New(event.StageTransition, e.Cursor, "", s.transition(e, d, to)))
	if d.Edge != "" {
		s.note(event.New(event.CycleStart, e.Cursor, "", cycleStart(st, d, to)))
	}
}

// transition is what a transition says of the visit that it ends (REQUIREMENTS U225).
func (s *session) transition(e event.Event, d event.NodeCompleteData, to string) event.StageTransitionData {
	t := event.StageTransitionData{From: d.Name, To: to, Outcome: d.Outcome, CycleCount: d.Cycle}
	if e.Cursor == nil {
		return t
	}
	if v, ok := s.account.Last(e.Cursor.NodePath); ok {
		t.DurationMS, t.TokensUsed, t.RetryCount = v.DurationMS, v.Tokens(), v.Retries+v.StageRetries
	}
	return t
}

// cycleStart is what the return over a counted edge comes to, by the state after it.
func cycleStart(st state.State, d event.NodeCompleteData, to string) event.CycleStartData {
	return event.CycleStartData{Edge: d.Edge, From: d.Name, To: to, Count: d.Cycle, Limit: d.Limit, Total: st.Returns, Reason: d.Reason}
}

// warn tells the warnings before there is anything else to tell: a run may take hours.
func (s *session) warn() {
	if len(s.warnings) > 0 {
		s.send(Update{Session: s.name, Warnings: s.warnings, Plan: s.plan, Dir: s.dir.Path()})
	}
}

// send shows an update to the run's observer, one at a time, and to the subscribers.
func (s *session) send(u Update) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.observe(u)
	s.engine.subscribers.send(u)
}

// notice journals the lives of plugin processes. Those that start before the run begins wait for its
// first events.
func (s *session) notice(n pluginhost.Notice) {
	if n.Event == pluginhost.Left {
		s.noteLater(event.New(event.SurvivorEnded, nil, "", n.Survivor))
		return
	}
	d := event.PluginData{
		Plugin: n.Command, SHA256: n.SHA256, PID: n.PID, Environment: n.Environment, Shared: n.Shared, Reattached: n.Reattached, Detail: n.Detail, Sandbox: sandboxData(n),
	}
	s.noteLater(event.New(event.Type(n.Event), nil, "", d))
}

// noteLater notes an event once the run's first events are written.
func (s *session) noteLater(e event.Event) {
	s.noticing.Lock()
	defer s.noticing.Unlock()
	if !s.begun {
		s.notices = append(s.notices, e)
		return
	}
	s.note(e)
}

// note journals an event that only informs and that no effect reports.
func (s *session) note(e event.Event) {
	stamped, err := s.journal.Append(context.Background(), e)
	if err != nil {
		s.log.Debug("event not journaled", "type", e.Type, "error", err)
	}
	for i := range stamped {
		s.send(Update{Session: s.name, Event: &stamped[i], Plan: s.plan, Dir: s.dir.Path()})
	}
}

// flushNotices lets notices through: the run's first events are written.
func (s *session) flushNotices() {
	s.noticing.Lock()
	defer s.noticing.Unlock()
	s.begun = true
	for _, e := range s.notices {
		s.note(e)
	}
	s.notices = nil
}

func (s *session) closeHost() error {
	ctx, cancel := context.WithTimeout(context.Background(), pluginStop)
	defer cancel()
	return s.host.Close(ctx)
}

// checkProvider asks a node's provider whether it would work.
func (s *session) checkProvider(ctx context.Context, n *plan.Node) error {
	p, err := s.components().provider(ctx, n.Provider.Type, n)
	if err != nil {
		return err
	}
	v, ok := p.(sdk.Validator)
	if !ok || s.engine.config.standIn != "" {
		return nil
	}
	return v.Validate(ctx, sdk.ValidateRequest{Model: n.Provider.Model, Mode: sdk.Mode(s.plan.PolicyOf(n).Mode)})
}

// checkContext asks how much the model of a node takes in.
func (s *session) checkContext(ctx context.Context, n *plan.Node) error {
	p, err := s.components().provider(ctx, n.Provider.Type, n)
	if err != nil {
		return nil //nolint:nilerr // checkProvider has said so
	}
	_, err = attempt.ContextOf(p, n)
	return err
}

// checkHook asks a hook's action whether it would work with its configuration. Those of the kernel itself have none.
func (s *session) checkHook(ctx context.Context, h *plan.Hook) error {
	if h.Action == plan.ActionPause || h.Action == plan.ActionConfirm {
		return nil
	}
	action, err := s.components().HookAction(ctx, h, nil)
	if err != nil {
		return err
	}
	return validate(ctx, action, h.Config)
}

// validate asks an action whether it would work with a configuration.
func validate(ctx context.Context, action sdk.HookAction, config json.RawMessage) error {
	v, ok := action.(sdk.Validator)
	if !ok {
		return nil
	}
	return v.Validate(ctx, sdk.ValidateRequest{Config: config})
}

// checkStrategy asks a strategy whether it would work with its configuration.
func (s *session) checkStrategy(ctx context.Context, n *plan.Node) error {
	t := n.Termination
	strategy, err := s.components().strategy(ctx, t.Type(), n)
	if err != nil {
		return err
	}
	v, ok := strategy.(sdk.Validator)
	if !ok {
		return nil
	}
	config, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("render the termination's config: %w", err)
	}
	return v.Validate(ctx, sdk.ValidateRequest{Config: config})
}

// finish settles the files of a run that rests and makes its result.
func (s *session) finish() (*Result, error) {
	r := s.result()
	err := s.rest()
	if s.state.Mode == "loop" {
		err = errors.Join(err, s.recordCompletion())
	}
	if _, system := failure.OfSystem(err); system { // the journal says how the run ended, these only repeat it
		s.log.Warn("files that repeat what the journal says are behind it; the next resume makes them again", "error", err)
		err = nil
	}
	return r, err
}

// recordCompletion adds a loop that has ended to the project's list of them.
func (s *session) recordCompletion() error {
	c := statefile.Completion{Session: s.name, Type: s.plan.Nodes[0].Ref, CompletedAt: time.Now().UTC().Format(time.RFC3339)}
	switch {
	case s.state.Status == state.Completed && s.state.Reason == "max_iterations":
		c.Status = statefile.CompletionMaximum
	case s.state.Status == state.Completed:
		c.Status = statefile.CompletionComplete
	case s.state.Status == state.Failed:
		c.Status = statefile.CompletionFailed
	default:
		return nil
	}
	return statefile.RecordCompletion(context.Background(), s.engine.project, c)
}

func (s *session) result() *Result {
	st := s.state
	r := &Result{
		Session: s.name, RunID: st.RunID, Status: st.Status, Mode: st.Mode, Reason: orElse(st.Reason, st.PauseReason),
		PauseKind: st.PauseKind, PauseCode: st.PauseCode, Failure: st.Failure, Completed: completed(s.plan, st), Stages: stageResults(s.plan, st, s.dir.Path()),
		Run: st.Run, Runs: st.Runs, Dir: s.dir.Path(), Deliverable: deliverable(s.plan, st, s.dir.Path()),
		Usage: st.Usage, Duration: time.Since(s.started), Warnings: s.warnings, Questions: questionsOf(s.plan, st, s.dir),
		Secrets: s.found,
	}
	reachedMaximum := st.Mode == "loop" && st.Reason == "max_iterations"
	r.Success = st.Status == state.Completed && !reachedMaximum
	if !st.Status.Final() {
		r.ResumeCommand = resumeCommand(s.name, s.plan, st)
	}
	return r
}

// resumeCommand goes on with a session that stands as st says.
func resumeCommand(session string, p *plan.Plan, st state.State) string {
	if used := schedule.UsedUp(p, st); used != nil {
		return used.ResumeCommand
	}
	return "agent-pipelines resume " + session
}

func completed(p *plan.Plan, st state.State) []string {
	ids := []string{}
	for i := range p.Nodes {
		if st.Nodes[p.Nodes[i].Path].Status == state.NodeComplete {
			ids = append(ids, p.Nodes[i].ID)
		}
	}
	return ids
}
