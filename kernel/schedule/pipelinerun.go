package schedule

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// decideEnd handles a run that is past its last node: the whole pipeline begins again while runs are left, then the
// session is complete.
func decideEnd(p *plan.Plan, s state.State) []Command {
	if s.Run >= s.Runs {
		return completeSession(p, s, sessionCompleteEvent(p, s))
	}
	next := s.Run + 1
	return record(event.New(event.RunStart, &event.Cursor{NodePath: p.First(), Run: next}, "",
		event.RunStartData{Name: p.Pipeline.Name, N: next, Max: s.Runs}))
}

// stampRun sets the run of the whole pipeline in the cursors of the commands' events, from the second run on.
func stampRun(run int, cmds []Command) []Command {
	for _, c := range cmds {
		if run > 1 && c.Event != nil && c.Event.Cursor != nil {
			c.Event.Cursor.Run = max(c.Event.Cursor.Run, run)
		}
	}
	return cmds
}

// applyRunStart moves the session to the first node again and forgets all nodes. Only the run numbers of nested
// pipelines continue, because directories are named after them.
func applyRunStart(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.RunStartData](e)
	if err != nil {
		return err
	}
	if s.Status != state.Running || s.At != "" || s.Run >= s.Runs || d.N != s.Run+1 {
		return invalidTransition(e, fmt.Sprintf("run %d of the pipeline is not due", d.N))
	}
	s.Run++
	for path, n := range s.Nodes {
		if node := p.Find(path); node == nil || node.Kind != plan.KindPipeline || p.Embedder(path) != "" {
			continue
		}
		if s.PriorRuns == nil {
			s.PriorRuns = map[string]int{}
		}
		s.PriorRuns[path] = n.Run
	}
	clear(s.Nodes)
	s.PriorVisits = nil
	s.Cycles, s.Returns, s.At = nil, 0, p.First()
	clearCarry(s)
	return nil
}
