package tree

import (
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// branches returns the rows of a parallel block's providers.
func (m *Model) branches(n *plan.Node, ns state.Node, asks map[position][]Ask, now time.Time) []Row {
	rows := make([]Row, 0, len(n.Providers))
	for _, p := range n.Providers {
		at := position{path: n.Path, branch: p.ID()}
		b, begun := ns.Branches[p.ID()]
		r := Row{Depth: depth(n) + 1, Path: n.Path, Branch: p.ID(), Name: screen.Clean(p.ID()), Asks: asks[at]}
		delete(asks, at)
		switch {
		case len(r.Asks) > 0:
			r.Mark = Waiting
		case begun:
			r.Mark = m.statusMark(b.Status)
		}
		r.Facts, r.Doing = m.branchFacts(n, p, b, r.Mark, now), m.activity(at, b.Loop, r.Mark)
		if r.Mark == Failed && b.Loop.Failure != nil {
			r.Doing = screen.Clean(b.Loop.Failure.Message)
		}
		rows = append(rows, r)
	}
	return rows
}

func (m *Model) branchFacts(n *plan.Node, p plan.BlockProvider, b state.Branch, mark Mark, now time.Time) []Fact {
	if b.Stage >= len(n.Stages) {
		return nil
	}
	standsFor := m.state.Providers[p.Name]
	stage := n.Stages[b.Stage].InBranch(p, plan.Provider{Type: standsFor.Type, Model: standsFor.Model})
	name, since := "", ""
	if mark != Done && len(n.Stages) > 1 {
		name = "stage " + screen.Clean(stage.ID)
	}
	if b.Loop.IterationStartedAt != nil && mark == Running {
		since = screen.Clock(now.Sub(*b.Loop.IterationStartedAt))
	}
	progress := iterations(b.Loop, stage.Termination.Max(), mark)
	if mark == Done {
		progress = branchIterations(b)
	}
	var usage event.Usage
	if w := m.work[position{path: n.Path, branch: p.ID()}]; mark == Running {
		usage = usage.Plus(w.usage)
	}
	return facts(
		Fact{name, rankIteration}, Fact{progress, rankIteration}, Fact{screen.Clean(screen.NodeProvider(&stage)), rankProvider},
		Fact{since, rankTime}, Fact{attempt(b.Loop, mark), rankAttempt}, Fact{spent(usage), rankUsage},
	)
}

func branchIterations(b state.Branch) string {
	total := 0
	for _, d := range b.Done {
		total += d.Iterations
	}
	return screen.Plural(total, "iteration")
}

// steps returns the rows of a node's steps, if the node is the current one or has failed.
func (m *Model) steps(n *plan.Node, ns state.Node, asks map[position][]Ask, now time.Time) []Row {
	if m.state.At != n.Path && ns.Status != state.NodeFailed {
		return nil
	}
	var rows []Row
	for i, id := range ns.Order {
		s, at := ns.Steps[id], position{n.Path, "", id}
		r := Row{Depth: depth(n) + 1, Path: n.Path, Step: id, Name: fmt.Sprintf("step %d/%d", i+1, len(ns.Order)), Asks: asks[at]}
		delete(asks, at)
		r.Mark = m.stepMark(s.Status)
		title := screen.Clean(s.Title)
		if title == "" {
			title = screen.Clean(id)
		}
		since := ""
		if s.Loop.IterationStartedAt != nil && r.Mark == Running {
			since = screen.Clock(now.Sub(*s.Loop.IterationStartedAt))
		}
		if len(r.Asks) > 0 {
			r.Mark = Waiting
		}
		r.Facts = facts(Fact{title, rankProvider}, Fact{since, rankTime}, Fact{attempt(s.Loop, r.Mark), rankAttempt})
		r.Doing = m.activity(at, s.Loop, r.Mark)
		if r.Mark == Failed || s.Status == state.StepBlocked {
			r.Doing = screen.Clean(s.Reason)
		}
		rows = append(rows, r)
	}
	return rows
}

func (m *Model) stepMark(s state.StepStatus) Mark {
	switch s {
	case state.StepComplete:
		return Done
	case state.StepFailed:
		return Failed
	case state.StepBlocked, state.StepSkipped:
		return Skipped
	case state.StepRunning:
		return m.runningMark()
	default:
		return Pending
	}
}

func depth(n *plan.Node) int {
	depth := 0
	for _, r := range n.Path {
		if r == '.' {
			depth++
		}
	}
	return depth
}
