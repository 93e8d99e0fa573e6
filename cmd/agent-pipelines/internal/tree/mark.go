package tree

import (
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Mark is the condition of a row.
type Mark int

// These are the marks of rows.
const (
	Pending Mark = iota // not entered yet
	Running
	Waiting // for the user
	Resting // unfinished, but no kernel works on it
	Done
	Failed
	Skipped
)

// marks describes the marks. Rows with a higher urgency stay visible first; rows with 0 may be folded.
var marks = [...]struct {
	text    string
	glyph   string // "" for the spinner
	style   screen.Style
	urgency int
}{
	Pending: {"to come", "○", screen.Faint, 0},
	Running: {"running", "", screen.Bold, 3},
	Waiting: {"waiting for you", "?", screen.Urgent, 4},
	Resting: {"under way", "‖", screen.Urgent, 1},
	Done:    {"done", "✓", screen.Good, 0},
	Failed:  {"failed", "✗", screen.Bad, 2},
	Skipped: {"left out", "–", screen.Faint, 0},
}

// mark returns the mark of a node.
func (m *Model) mark(n *plan.Node, ns state.Node, entered bool) Mark {
	if !entered && m.plan.Skipped(n) {
		return Skipped
	}
	return m.statusMark(ns.Status)
}

func (m *Model) statusMark(s state.NodeStatus) Mark {
	switch s {
	case state.NodeComplete:
		return Done
	case state.NodeFailed:
		return Failed
	case state.NodeSkipped:
		return Skipped
	case state.NodeRunning:
		return m.runningMark()
	default:
		return Pending
	}
}

func (m *Model) stepMark(s state.StepStatus) Mark {
	if s == state.StepBlocked {
		return Skipped
	}
	return m.statusMark(state.NodeStatus(s))
}

// runningMark returns the mark of unfinished work.
func (m *Model) runningMark() Mark {
	switch {
	case m.state.Status == state.Failed:
		return Failed
	case m.state.Status != state.Running, m.crashed:
		return Resting
	default:
		return Running
	}
}
