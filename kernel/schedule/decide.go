package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Decide returns the commands that are due in s, in a stable order. It returns the same commands until an event that
// answers them is applied. It returns no commands while the run waits for effects in flight, a timer or the user, or
// when the run has ended.
func Decide(p *plan.Plan, s state.State) []Command {
	return stampRun(s.Run, decide(p, s))
}

func decide(p *plan.Plan, s state.State) []Command {
	switch {
	case s.Epoch == 0 || s.RunID == "":
		return nil
	case s.Stop != nil:
		return decideStop(s)
	case s.Status != state.Running:
		return nil
	}
	if cmds, passed := decideSessionStart(p, s); !passed {
		return cmds
	}
	if s.At == "" {
		return decideEnd(p, s)
	}
	n := p.Find(s.At)
	if n == nil {
		return record(planMismatchEvent(s))
	}
	if due := armGuardrails(p, s); due != nil {
		return due
	}
	return enforceGuardrails(p, s, decideNode(p, s, n))
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

func sessionCompleteEvent(p *plan.Plan, s state.State) event.Event {
	reason := "all_loops_complete" // the Bash engine's reason for a finished pipeline
	if s.Mode == "loop" && len(p.Nodes) > 0 {
		reason = s.Nodes[p.Nodes[0].Path].Reason
	}
	d := event.SessionCompleteData{Reason: reason, ExitAfter: exitNode(p, s)}
	return event.New(event.SessionComplete, lastCompletionCursor(p, s), "", d)
}

// lastCompletionCursor returns the cursor at which the last node ended. For a parallel block or a pipeline node it has
// the iteration of the stage before. The Bash engine does the same, because it counts no iterations in blocks.
func lastCompletionCursor(p *plan.Plan, s state.State) *event.Cursor {
	var c *event.Cursor
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n, ok := s.Nodes[p.Nodes[i].Path]
		if !ok {
			continue
		}
		cursor := progress.CompletionCursor(s, p.Nodes[i].Path, n)
		if c == nil {
			c = cursor
		}
		if p.Nodes[i].Kind == plan.KindStage {
			c.NodeRun, c.Iteration = cursor.NodeRun, cursor.Iteration
			return c
		}
	}
	if c == nil {
		c = &event.Cursor{NodePath: "0"}
	}
	return c
}

// decideSessionStart returns the commands for the session_start hooks that are due before the first node is entered.
func decideSessionStart(p *plan.Plan, s state.State) (cmds []Command, passed bool) {
	if len(s.Nodes) > 0 || s.Run > 1 || s.HookCursor.Point == string(plan.PointSessionEnd) {
		return nil, true
	}
	return newHookPoint(plan.PointSessionStart, nil, event.Location{}, s.HookCursor).dueCommands(p, s)
}
