package derived

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// phases maps the path of each artifact-making node to its last phase.
type phases map[string]string

// phaseStart is the beginning of a phase of a node.
type phaseStart struct {
	cursor     *event.Cursor
	node, name string
}

// advance records the phases that begin with an event and returns the phases that differ from the last one. A node
// that ends or restarts always begins the phase finalize.
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

// started returns the phases that e begins for the node at path.
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
