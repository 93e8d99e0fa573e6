package tree

import (
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Mark is the condition of a row.
type Mark int

// The marks.
const (
	Pending Mark = iota // not entered yet
	Running
	Waiting // for the user
	Resting // unfinished, but no kernel works on it
	Done
	Failed
	Skipped
)

// Row is a node, a provider of a parallel block, or a step. All texts are printable.
type Row struct {
	Depth  int    // 0 for nodes of the pipeline itself
	Path   string // of the node; for a provider or step that of its node; "" for the session
	Branch string // the provider of a parallel block, "" elsewhere
	Step   string // the id of a step, "" elsewhere
	Name   string
	Mark   Mark
	Facts  []Fact
	Doing  string // the current activity, the last tool call, or the failure; "" for none
	Asks   []Ask  // open questions
}

// Fact is a detail of a row. A row that is too narrow drops facts with a higher rank first.
type Fact struct {
	Text string
	Rank int
}

// Ask is a question to the user, with the commands that answer it.
type Ask struct {
	ID, Text string
	Commands []string
}

// Rows returns the tree at a time: the nodes in plan order, those of embedded pipelines, providers and steps below
// theirs; none before the first event.
func (m *Model) Rows(now time.Time) []Row {
	if m.plan == nil {
		return nil
	}
	asks := m.questions()
	var rows []Row
	for n := range m.plan.All() {
		ns, entered := m.state.Nodes[n.Path]
		at := position{path: n.Path}
		r := Row{Depth: strings.Count(n.Path, "."), Path: n.Path, Name: screen.Clean(n.ID), Asks: asks[at]}
		r.Mark = m.mark(n, ns, entered, len(r.Asks) > 0)
		switch n.Kind {
		case plan.KindParallel:
			r.Facts, r.Doing = m.blockFacts(n, ns), failureReason(r.Mark, ns)
			rows = append(append(rows, r), m.branches(n, ns, asks, now)...)
		case plan.KindPipeline:
			r.Facts, r.Doing = m.pipelineFacts(n, ns, now), failureReason(r.Mark, ns)
			rows = append(rows, r)
		default:
			r.Facts, r.Doing = m.stageFacts(n, ns, r.Mark, now), m.activity(at, ns.Loop, r.Mark)
			if reason := failureReason(r.Mark, ns); reason != "" {
				r.Doing = reason
			}
			rows = append(append(rows, r), m.steps(n, ns, asks, now)...)
		}
		delete(asks, at)
	}
	rows = append(m.sessionRow(asks), rows...)
	for i := range rows {
		if rows[i].Mark == Waiting {
			rows[i].Facts = append([]Fact{{"waiting for you", rankState}}, rows[i].Facts...)
		}
	}
	return rows
}

// sessionRow returns a row for questions that belong to no other row.
func (m *Model) sessionRow(asks map[position][]Ask) []Row {
	var all []Ask
	for _, group := range asks {
		all = append(all, group...)
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b Ask) int { return strings.Compare(a.ID, b.ID) })
	return []Row{{Name: "session", Mark: Waiting, Asks: all}}
}

// mark returns the mark of a node.
func (m *Model) mark(n *plan.Node, ns state.Node, entered, asks bool) Mark {
	switch {
	case asks:
		return Waiting
	case !entered && m.plan.Skipped(n):
		return Skipped
	case !entered:
		return Pending
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

// questions returns the unanswered questions by their positions.
func (m *Model) questions() map[position][]Ask {
	all := map[position][]Ask{}
	if m.state.Status.Final() {
		return all
	}
	for _, id := range m.state.UnansweredQuestions() {
		q := m.state.Questions[id]
		at := position{path: q.Node}
		if _, place, _, ok := q.Key.Parse(); ok {
			at = position{place.Outer(), place.Branch, ""}
			if n := m.plan.Find(at.path); place.Step != "" && n != nil && sideBySide(n) {
				at.step = place.Step
			}
		}
		all[at] = append(all[at], Ask{ID: id, Text: screen.Clean(q.Text), Commands: commands(m.session, id, q)})
	}
	return all
}

// commands returns the commands that answer a question.
func commands(session, id string, q state.Question) []string {
	words := " " + session + " " + id
	var all []string
	if slices.Contains(q.Options, event.AnswerApprove) {
		all = append(all, "agent-pipelines approve"+words)
	}
	if slices.Contains(q.Options, event.AnswerReject) && q.AcceptFeedback {
		return append(all, "agent-pipelines reject"+words+" --feedback TEXT")
	}
	if len(all) == 0 {
		return []string{"agent-pipelines questions show" + words}
	}
	return all
}

func sideBySide(n *plan.Node) bool { return n.Steps != nil && n.Steps.Parallel }
