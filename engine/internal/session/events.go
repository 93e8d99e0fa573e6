package session

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
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
	if e.Type == event.SecretFound {
		s.foundSecrets.Apply(e)
	}
	for _, info := range s.derived.Apply(s.plan, e, st) {
		s.appendInfo(info)
	}
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
		Plugin: n.Command, SHA256: n.SHA256, PID: n.PID, Environment: n.Environment, Shared: n.Shared, Reattached: n.Reattached, Detail: n.Detail, Sandbox: pluginSandbox(n),
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
