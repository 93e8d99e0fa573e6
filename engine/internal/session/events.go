package session

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
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
