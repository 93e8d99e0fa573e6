package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Row is a node, a provider of a parallel block, or a step. All texts are printable.
type Row struct {
	Position     // the zero value is the session
	Depth    int // 0 for nodes of the pipeline itself
	Name     string
	Mark     Mark
	Facts    []Fact
	Doing    string // the current activity, the last tool call, or the failure; "" for none
	Asks     []Ask  // open questions
}

// Ask is a question to the user, with the commands that answer it.
type Ask struct {
	ID, Text string
	Commands []string
}

// Rows returns the tree at a time: the nodes in plan order, each followed by its inner nodes, providers or steps. It
// returns none before the first event.
func (m *Model) Rows(now time.Time) []Row {
	if m.plan == nil {
		return nil
	}
	asks := m.questions()
	var rows []Row
	for n := range m.plan.All() {
		ns, entered := m.state.Nodes[n.Path]
		r := newRow(Position{Path: n.Path}, n.ID, asks)
		if r.Mark != Waiting {
			r.Mark = m.mark(n, ns, entered)
		}
		reason := failureReason(r.Mark, ns)
		switch n.Kind {
		case plan.KindParallel:
			r.Facts, r.Doing = m.blockFacts(n, ns), reason
			rows = append(append(rows, r), m.branches(n, ns, asks, now)...)
		case plan.KindPipeline:
			r.Facts, r.Doing = m.pipelineFacts(n, ns, now), reason
			rows = append(rows, r)
		default:
			r.Facts, r.Doing = m.stageFacts(n, ns, r.Mark, now), cmp.Or(reason, m.activity(r.Position, ns.Loop, r.Mark))
			rows = append(append(rows, r), m.steps(n, ns, asks, now)...)
		}
	}
	rows = append(sessionRow(asks), rows...)
	for i := range rows {
		if rows[i].Mark == Waiting {
			rows[i].Facts = slices.Insert(rows[i].Facts, 0, Fact{"waiting for you", rankState})
		}
	}
	return rows
}

// newRow returns a row with its questions, which it takes out of asks.
func newRow(at Position, name string, asks map[Position][]Ask) Row {
	r := Row{Position: at, Depth: strings.Count(at.Path, "."), Name: screen.Clean(name), Asks: asks[at]}
	if at.Branch != "" || at.Step != "" {
		r.Depth++
	}
	if len(r.Asks) > 0 {
		r.Mark = Waiting
	}
	delete(asks, at)
	return r
}

// sessionRow returns a row for questions that belong to no other row.
func sessionRow(asks map[Position][]Ask) []Row {
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

// branches returns the rows of a parallel block's providers.
func (m *Model) branches(n *plan.Node, ns state.Node, asks map[Position][]Ask, now time.Time) []Row {
	rows := make([]Row, 0, len(n.Providers))
	for _, p := range n.Providers {
		b, begun := ns.Branches[p.ID()]
		r := newRow(Position{Path: n.Path, Branch: p.ID()}, p.ID(), asks)
		if r.Mark != Waiting && begun {
			r.Mark = m.statusMark(b.Status)
		}
		r.Facts, r.Doing = m.branchFacts(n, p, b, r, now), m.activity(r.Position, b.Loop, r.Mark)
		if r.Mark == Failed && b.Loop.Failure != nil {
			r.Doing = screen.Clean(b.Loop.Failure.Message)
		}
		rows = append(rows, r)
	}
	return rows
}

// steps returns the rows of a node's steps, if the node is the current one or has failed.
func (m *Model) steps(n *plan.Node, ns state.Node, asks map[Position][]Ask, now time.Time) []Row {
	if m.state.At != n.Path && ns.Status != state.NodeFailed {
		return nil
	}
	var rows []Row
	for i, id := range ns.Order {
		s := ns.Steps[id]
		r := newRow(Position{Path: n.Path, Step: id}, fmt.Sprintf("step %d/%d", i+1, len(ns.Order)), asks)
		mark := m.stepMark(s.Status)
		since := iterationClock(s.Loop, mark, now)
		if r.Mark != Waiting {
			r.Mark = mark
		}
		r.Facts = facts(Fact{cmp.Or(screen.Clean(s.Title), screen.Clean(id)), rankProvider}, Fact{since, rankTime}, Fact{attempt(s.Loop, r.Mark), rankAttempt})
		r.Doing = m.activity(r.Position, s.Loop, r.Mark)
		if r.Mark == Failed || s.Status == state.StepBlocked {
			r.Doing = screen.Clean(s.Reason)
		}
		rows = append(rows, r)
	}
	return rows
}

func (m *Model) branchFacts(n *plan.Node, p plan.BlockProvider, b state.Branch, r Row, now time.Time) []Fact {
	if b.Stage >= len(n.Stages) {
		return nil
	}
	standsFor := m.state.Providers[p.Name]
	stage := n.Stages[b.Stage].InBranch(p, plan.Provider{Type: standsFor.Type, Model: standsFor.Model})
	name, progress := "", iterations(b.Loop, stage.Termination.Max(), r.Mark)
	if r.Mark == Done {
		progress = branchIterations(b)
	} else if len(n.Stages) > 1 {
		name = "stage " + screen.Clean(stage.ID)
	}
	var usage event.Usage
	if r.Mark == Running {
		usage = usage.Plus(m.work[r.Position].usage)
	}
	return facts(
		Fact{name, rankIteration}, Fact{progress, rankIteration}, Fact{screen.Clean(screen.NodeProvider(&stage)), rankProvider},
		Fact{iterationClock(b.Loop, r.Mark, now), rankTime}, Fact{attempt(b.Loop, r.Mark), rankAttempt}, Fact{spent(usage), rankUsage},
	)
}

func (m *Model) stageFacts(n *plan.Node, ns state.Node, mark Mark, now time.Time) []Fact {
	progress := iterations(ns.Loop, n.Termination.Max(), mark)
	if len(ns.Order) > 0 {
		progress = stepsDone(ns)
	}
	since := cmp.Or(iterationClock(ns.Loop, mark, now), nodeClock(ns, mark, now))
	return facts(
		Fact{progress, rankIteration}, Fact{screen.Clean(screen.NodeProvider(n)), rankProvider},
		Fact{since, rankTime}, Fact{attempt(ns.Loop, mark), rankAttempt}, Fact{visit(ns), rankAttempt}, Fact{m.usage(n.Path), rankUsage},
	)
}

func (m *Model) blockFacts(n *plan.Node, ns state.Node) []Fact {
	done := 0
	for _, b := range ns.Branches {
		if b.Status == state.NodeComplete {
			done++
		}
	}
	return facts(Fact{fmt.Sprintf("%d of %d providers done", done, len(n.Providers)), rankIteration}, Fact{visit(ns), rankAttempt}, Fact{m.usage(n.Path), rankUsage})
}

func (m *Model) pipelineFacts(n *plan.Node, ns state.Node, now time.Time) []Fact {
	run := ""
	if n.Runs > 1 && ns.Runs > 0 {
		run = fmt.Sprintf("run %d/%d", ns.Runs, n.Runs)
	}
	return facts(
		Fact{run, rankIteration}, Fact{"pipeline " + screen.Clean(n.Ref), rankProvider}, Fact{nodeClock(ns, m.statusMark(ns.Status), now), rankTime},
		Fact{visit(ns), rankAttempt}, Fact{m.usage(n.Path), rankUsage},
	)
}

// usage returns the consumption of a node.
func (m *Model) usage(path string) string {
	u := m.consumption[path]
	for at, w := range m.work {
		if at.Path == path {
			u = u.Plus(w.usage)
		}
	}
	return spent(u)
}

// activity describes the current work at a position.
func (m *Model) activity(at Position, l state.Loop, mark Mark) string {
	if mark != Running {
		return ""
	}
	switch l.Phase {
	case state.PhaseMeasure, state.PhaseSettle:
		return "checking the work"
	case state.PhaseDecide:
		return "deciding the next step"
	case state.PhaseQuestion, state.PhaseAsking:
		return "the judge reads"
	case state.PhaseBackoff, state.PhaseDelay:
		return "waiting" + m.until(at)
	}
	w := m.work[at]
	message := w.progress.Message
	if message == w.progress.Tool {
		message = ""
	}
	return cmp.Or(screen.Joined(screen.Clean(w.progress.Tool), screen.Clean(message)), w.activity)
}

// until returns " until 15:04:05" if a timer is set for a position.
func (m *Model) until(at Position) string {
	var due time.Time
	for key, t := range m.state.Timers {
		_, location, _, ok := key.Parse()
		if !ok || t.Purpose == state.PurposeGuardrail || t.Purpose == state.PurposeEscalation || location.Outer() != at.Path || location.Branch != at.Branch {
			continue
		}
		if due.IsZero() || t.Due.Before(due) {
			due = t.Due
		}
	}
	if due.IsZero() {
		return ""
	}
	return " until " + due.Local().Format("15:04:05")
}

// questions returns the unanswered questions by their positions.
func (m *Model) questions() map[Position][]Ask {
	all := map[Position][]Ask{}
	if m.state.Status.Final() {
		return all
	}
	for _, id := range m.state.UnansweredQuestions() {
		q := m.state.Questions[id]
		at := Position{Path: q.Node}
		if _, place, _, ok := q.Key.Parse(); ok {
			at = Position{Path: place.Outer(), Branch: place.Branch}
			if n := m.plan.Find(at.Path); n != nil && n.Steps != nil && n.Steps.Parallel {
				at.Step = place.Step
			}
		}
		all[at] = append(all[at], Ask{ID: id, Text: screen.Clean(q.Text), Commands: commands(m.session, id, q)})
	}
	return all
}

// commands returns the commands that answer a question, or the command that shows it.
func commands(session, id string, q state.Question) []string {
	c := inspect.NewQuestionCommands("agent-pipelines", inspect.Question{Session: session, ID: id, Options: q.Options, AcceptFeedback: q.AcceptFeedback})
	all := slices.DeleteFunc([]string{c.Approve, c.Feedback}, func(line string) bool { return line == "" })
	if len(all) == 0 {
		return []string{c.Show}
	}
	return all
}
