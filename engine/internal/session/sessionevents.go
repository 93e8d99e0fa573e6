package session

import (
	"context"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// onEvent handles an applied event: it updates derived files, inbox, notifications and observers.
func (s *session) onEvent(e event.Event, st state.State) {
	if err := s.stateFile.Update(e, st); err != nil {
		s.log.Warn("state.json is out of date", "error", err)
	}
	s.timeline.Apply(e)
	s.publishEscalations(st)
	s.acknowledge(e)
	s.notifier.Observe(s.plan, e, st)
	s.send(inspect.Update{Session: s.name, Event: &e, State: &st, Plan: s.plan, Dir: s.dir.Path()})
	for _, warning := range budgetWarnings(s.plan, e, st) {
		s.appendInfo(event.New(event.BudgetWarning, e.Cursor, "", warning))
	}
	s.appendArtifactEvents(e, st)
	switch e.Type {
	case event.NodeComplete:
		s.appendTransition(e, st)
	case event.SecretFound:
		s.foundSecrets.Apply(e)
	case event.TimerFired, event.HookComplete, event.HookTimeout:
		s.appendTimeouts(e, st)
	}
}

// appendTimeouts journals expired guardrails: at once, or after the hook that they triggered (REQUIREMENTS
// U249).
func (s *session) appendTimeouts(e event.Event, st state.State) {
	if e.Type == event.TimerFired {
		s.expiredTimers = append(s.expiredTimers, e)
	}
	if st.IsHookRunning() {
		return
	}
	for _, fired := range s.expiredTimers {
		if d := schedule.GuardrailFailure(s.plan, st, fired.Key); d != nil {
			s.appendInfo(event.New(event.StageTimeout, fired.Cursor, "", d))
		}
	}
	s.expiredTimers = nil
}

// appendTransition journals, for readers, the events that follow from a transition. No fold needs them.
func (s *session) appendTransition(e event.Event, st state.State) {
	d, err := event.Decode[event.NodeCompleteData](e)
	if err != nil {
		return
	}
	if f := d.Failure; f != nil && f.Attempt == 0 { // failed attempts have their own event
		failed := event.New(event.Error, e.Cursor, "", f)
		failed.Volatile = true
		s.appendInfo(failed)
	}
	to := d.To
	if n := s.plan.Find(to); n != nil {
		to = n.ID
	}
	s.appendInfo(event.New(event.StageTransition, e.Cursor, "", s.transitionData(e, d, to)))
	if d.Edge != "" {
		s.appendInfo(event.New(event.CycleStart, e.Cursor, "", cycleStartData(st, d, to)))
	}
}

// transitionData returns the data of a transition, with the metrics of the visit that it ends (REQUIREMENTS
// U225).
func (s *session) transitionData(e event.Event, d event.NodeCompleteData, to string) event.StageTransitionData {
	t := event.StageTransitionData{From: d.Name, To: to, Outcome: d.Outcome, CycleCount: d.Cycle}
	if e.Cursor == nil {
		return t
	}
	if v, ok := s.timeline.Last(e.Cursor.NodePath); ok {
		t.DurationMS, t.TokensUsed, t.RetryCount = v.DurationMS, v.Tokens(), v.Retries+v.StageRetries
	}
	return t
}

// cycleStartData returns the data of a return over a counted edge; st is the state after it.
func cycleStartData(st state.State, d event.NodeCompleteData, to string) event.CycleStartData {
	return event.CycleStartData{Edge: d.Edge, From: d.Name, To: to, Count: d.Cycle, Limit: d.Limit, Total: st.Returns, Reason: d.Reason}
}

// sendWarnings sends the compiler's warnings before the run starts, because a run may take hours.
func (s *session) sendWarnings() {
	if len(s.warnings) > 0 {
		s.send(inspect.Update{Session: s.name, Warnings: s.warnings, Plan: s.plan, Dir: s.dir.Path()})
	}
}

// send passes an update to the run's observer, one at a time, and to the subscribers.
func (s *session) send(u inspect.Update) {
	s.observeMu.Lock()
	defer s.observeMu.Unlock()
	s.observe(u)
	s.engine.publish(u)
}

// pluginEvent journals the start and end of plugin processes. Before the run's first events they are
// deferred.
func (s *session) pluginEvent(n pluginhost.Notice) {
	if n.Event == pluginhost.SurvivorEnded {
		s.deferInfo(event.New(event.SurvivorEnded, nil, "", n.Survivor))
		return
	}
	d := event.PluginData{
		Plugin: n.Command, SHA256: n.SHA256, PID: n.PID, Environment: n.Environment, Shared: n.Shared, Reattached: n.Reattached, Detail: n.Detail, Sandbox: sandboxData(n),
	}
	s.deferInfo(event.New(event.Type(n.Event), nil, "", d))
}

// deferInfo appends an informational event, but not before the run's first events.
func (s *session) deferInfo(e event.Event) {
	s.deferMu.Lock()
	defer s.deferMu.Unlock()
	if !s.runBegun {
		s.deferred = append(s.deferred, e)
		return
	}
	s.appendInfo(e)
}

// appendInfo journals an informational event that no effect reports.
func (s *session) appendInfo(e event.Event) {
	stamped, err := s.journal.Append(context.Background(), e)
	if err != nil {
		s.log.Debug("event not journaled", "type", e.Type, "error", err)
	}
	for i := range stamped {
		s.send(inspect.Update{Session: s.name, Event: &stamped[i], Plan: s.plan, Dir: s.dir.Path()})
	}
}

// flushDeferred journals the deferred events, once the run's first events are written.
func (s *session) flushDeferred() {
	s.deferMu.Lock()
	defer s.deferMu.Unlock()
	s.runBegun = true
	for _, e := range s.deferred {
		s.appendInfo(e)
	}
	s.deferred = nil
}

// budgetWarnings returns the policy.cost.warn_usd limits that the event has crossed; st is the state after
// it.
func budgetWarnings(p *plan.Plan, e event.Event, st state.State) []event.BudgetWarningData {
	var all []event.BudgetWarningData
	for _, scope := range slices.Sorted(maps.Keys(st.Charges)) {
		charge := st.Charges[scope]
		if charge.WarnedAt == 0 || charge.WarnedAt != e.Seq {
			continue
		}
		for _, c := range p.Ceilings(scope) {
			if c.Scope == scope {
				all = append(all, event.BudgetWarningData{Scope: scope, SpentUSD: charge.USD, WarnUSD: c.Cost.WarnUSD, MaxUSD: c.Cost.MaxUSD})
			}
		}
	}
	return all
}

// deferNotes queues informational events for the time after the run's first events.
func (s *session) deferNotes(notes []event.Event) {
	s.deferMu.Lock()
	defer s.deferMu.Unlock()
	for _, e := range notes {
		e.Volatile = true
		s.deferred = append(s.deferred, e)
	}
}

// appendArtifactEvents journals an event's consequences for artifacts, for readers: invalid or repaired
// artifacts, warnings about inputs, and the phases of nodes.
func (s *session) appendArtifactEvents(e event.Event, st state.State) {
	for _, info := range artifactEvents(s.plan, e, st) {
		s.appendInfo(info)
	}
	for _, start := range s.phases.advance(s.plan, e) {
		s.appendInfo(event.New(event.Phase, start.cursor, "", event.PhaseData{Node: start.node, Name: start.name}))
	}
}

// artifactEvents returns the informational artifact events that follow from an applied event.
func artifactEvents(p *plan.Plan, e event.Event, st state.State) []event.Event {
	_, at, _, ok := e.Key.Parse()
	n := p.Find(at.Node)
	if !ok || n == nil {
		return nil
	}
	derive := func(t event.Type, data any) event.Event {
		derived := event.New(t, e.Cursor, "", data)
		derived.Attempt = e.Attempt
		return derived
	}
	switch e.Type {
	case event.Error:
		d, err := event.Decode[event.FailureData](e)
		if err != nil || len(d.Faults) == 0 || e.Key.Kind() != event.KeySettle {
			return nil
		}
		heals := st.LoopAt(at).Phase == state.PhaseReady
		return []event.Event{derive(event.ArtifactInvalid, event.ArtifactInvalidData{Node: n.ID, Faults: d.Faults, Retried: heals})}
	case event.IterationComplete:
		d, err := event.Decode[event.IterationCompleteData](e)
		if err != nil || d.ArtifactRetries == 0 {
			return nil
		}
		return []event.Event{derive(event.ArtifactHealed, event.ArtifactHealedData{Node: n.ID, Retries: d.ArtifactRetries})}
	case event.InputChecked:
		d, err := event.Decode[event.InputCheckedData](e)
		if err != nil {
			return nil
		}
		var all []event.Event
		for _, warning := range d.Warnings {
			all = append(all, derive(event.ArtifactWarning, event.ArtifactWarningData{Node: n.ID, Message: warning}))
		}
		return all
	default:
		return nil
	}
}

// phases maps the path of each artifact-making node to its last journaled phase. Only the run's goroutine
// uses it.
type phases map[string]string

// phaseStart is the beginning of a phase of a node.
type phaseStart struct {
	cursor     *event.Cursor
	node, name string
}

// advance records the phases that begin with an event and returns the phases that differ from the last one. It
// adds finalize however the node ended.
func (f phases) advance(p *plan.Plan, e event.Event) []phaseStart {
	if e.Type == event.SessionAborted {
		return f.finish(p)
	}
	if e.Cursor == nil {
		return nil
	}
	path := e.Cursor.NodePath
	n := p.Find(path)
	if n == nil || n.Artifact == nil {
		return nil
	}
	var begun []phaseStart
	for _, name := range f.started(path, e) {
		if f[path] != name {
			begun = append(begun, phaseStart{e.Cursor, n.ID, name})
		}
		f[path] = name
	}
	return begun
}

// started returns the phases that an event of the node at a path begins.
func (f phases) started(path string, e event.Event) []string {
	whole := e.Cursor.Step == "" && e.Cursor.Provider == ""
	switch e.Type {
	case event.NodeStart:
		names := []string{event.PhaseInitialize, event.PhaseValidateInput}
		if f[path] != "" && f[path] != event.PhaseFinalize { // the node restarts
			names = append([]string{event.PhaseFinalize}, names...)
		}
		return names
	case event.IterationStart, event.AttemptStart, event.Retry, event.NodeRunStart, event.ParallelProviderStart:
		return []string{event.PhaseExecute}
	case event.AttemptComplete, event.CheckResult:
		if whole && f[path] == event.PhaseExecute { // otherwise the check is about the node's input
			return []string{event.PhaseValidateOutput}
		}
	case event.NodeComplete:
		return []string{event.PhaseFinalize}
	}
	return nil
}

// finish moves all unfinished nodes to their last phase.
func (f phases) finish(p *plan.Plan) []phaseStart {
	var ended []phaseStart
	for _, path := range slices.Sorted(maps.Keys(f)) {
		if n := p.Find(path); n != nil && f[path] != event.PhaseFinalize {
			f[path] = event.PhaseFinalize
			ended = append(ended, phaseStart{&event.Cursor{NodePath: path}, n.ID, event.PhaseFinalize})
		}
	}
	return ended
}
