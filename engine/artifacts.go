package engine

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

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
