package session

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

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

// cycleStartData returns the data of a return over a counted edge; st is the state after it.
func cycleStartData(st state.State, d event.NodeCompleteData, to string) event.CycleStartData {
	return event.CycleStartData{Edge: d.Edge, From: d.Name, To: to, Count: d.Cycle, Limit: d.Limit, Total: st.Returns, Reason: d.Reason}
}

// sandboxData returns the journal's description of a process's isolation, nil for none.
func sandboxData(n pluginhost.Notice) *event.SandboxData {
	if n.Sandbox == nil || n.Requested == nil {
		return nil
	}
	got := n.Sandbox
	return &event.SandboxData{
		Requested: string(n.Requested.Mode), AskedNetwork: string(n.Requested.Network), Unasked: n.Requested.BestEffort,
		Mode: string(got.Mode), Network: string(got.Network), Landlock: got.Landlock, Seccomp: got.Seccomp, Bubblewrap: got.Bubblewrap,
		Read: n.Requested.Read, Write: n.Requested.Write, Memory: got.Memory, Processes: got.Processes, CPU: got.CPUSeconds, Lacks: got.Missing,
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

// advance records the phases that begin with an event and returns those that differ from the last one. It
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
