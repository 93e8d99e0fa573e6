package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

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

// budgetWarnings are the marks of policy.cost.warn_usd that the event has passed; st is the state after it.
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

// inform keeps events that only inform until the run has begun, and then journals them.
func (s *session) inform(notes []event.Event) {
	s.noticing.Lock()
	defer s.noticing.Unlock()
	for _, e := range notes {
		e.Volatile = true
		s.notices = append(s.notices, e)
	}
}

// tellArtifacts journals for readers what an event means for artifacts: that one is bad, or healed, what is odd about
// one that a node is given, and which phase a node that makes one has come to.
func (s *session) tellArtifacts(e event.Event, st state.State) {
	for _, told := range artifactNews(s.plan, e, st) {
		s.note(told)
	}
	for _, at := range s.phases.after(s.plan, e) {
		s.note(event.New(event.Phase, at.cursor, "", event.PhaseData{Node: at.node, Name: at.name}))
	}
}

// artifactNews is what an event that was applied says of artifacts.
func artifactNews(p *plan.Plan, e event.Event, st state.State) []event.Event {
	_, at, _, placed := e.Key.Parse()
	n := p.Find(at.Node)
	if !placed || n == nil {
		return nil
	}
	tell := func(t event.Type, data any) event.Event {
		told := event.New(t, e.Cursor, "", data)
		told.Attempt = e.Attempt
		return told
	}
	switch e.Type {
	case event.Error:
		d, err := event.Decode[event.FailureData](e)
		if err != nil || len(d.Faults) == 0 || e.Key.Kind() != event.KeySettle {
			return nil
		}
		heals := st.LoopAt(at).Phase == state.PhaseReady
		return []event.Event{tell(event.ArtifactInvalid, event.ArtifactInvalidData{Node: n.ID, Faults: d.Faults, Heals: heals})}
	case event.IterationComplete:
		d, err := event.Decode[event.IterationCompleteData](e)
		if err != nil || d.Healed == 0 {
			return nil
		}
		return []event.Event{tell(event.ArtifactHealed, event.ArtifactHealedData{Node: n.ID, After: d.Healed})}
	case event.InputChecked:
		d, err := event.Decode[event.InputCheckedData](e)
		if err != nil {
			return nil
		}
		var all []event.Event
		for _, warning := range d.Warnings {
			all = append(all, tell(event.ArtifactWarning, event.ArtifactWarningData{Node: n.ID, Message: warning}))
		}
		return all
	default:
		return nil
	}
}

// phases are those that the nodes which make artifacts have come to, by path: what was told last. It is used by the
// run's goroutine.
type phases map[string]string

// phaseAt is a phase that a node comes to.
type phaseAt struct {
	cursor     *event.Cursor
	node, name string
}

// after are the phases that begin with an event: none that was told last, and finalize however the node ended.
func (f phases) after(p *plan.Plan, e event.Event) []phaseAt {
	if e.Type == event.SessionAborted {
		return f.end(p)
	}
	if e.Cursor == nil {
		return nil
	}
	path := e.Cursor.NodePath
	n := p.Find(path)
	if n == nil || n.Artifact == nil {
		return nil
	}
	var begun []phaseAt
	for _, name := range f.names(path, e) {
		if f[path] != name {
			begun = append(begun, phaseAt{e.Cursor, n.ID, name})
		}
		f[path] = name
	}
	return begun
}

// names are the phases that an event about the node at a path stands for.
func (f phases) names(path string, e event.Event) []string {
	whole := e.Cursor.Step == "" && e.Cursor.Provider == ""
	switch e.Type {
	case event.NodeStart:
		names := []string{event.PhaseInitialize, event.PhaseValidateInput}
		if f[path] != "" && f[path] != event.PhaseFinalize { // it is entered anew
			names = append([]string{event.PhaseFinalize}, names...)
		}
		return names
	case event.IterationStart, event.AttemptStart, event.Retry, event.NodeRunStart, event.ParallelProviderStart:
		return []string{event.PhaseExecute}
	case event.AttemptComplete, event.CheckResult:
		if whole && f[path] == event.PhaseExecute { // else what is measured is what the node is given
			return []string{event.PhaseValidateOutput}
		}
	case event.NodeComplete:
		return []string{event.PhaseFinalize}
	}
	return nil
}

// end is the last phase of all nodes under way.
func (f phases) end(p *plan.Plan) []phaseAt {
	var ended []phaseAt
	for _, path := range slices.Sorted(maps.Keys(f)) {
		if n := p.Find(path); n != nil && f[path] != event.PhaseFinalize {
			f[path] = event.PhaseFinalize
			ended = append(ended, phaseAt{&event.Cursor{NodePath: path}, n.ID, event.PhaseFinalize})
		}
	}
	return ended
}
