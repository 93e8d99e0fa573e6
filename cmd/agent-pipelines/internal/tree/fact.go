package tree

import (
	"cmp"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// The ranks of facts: those with a higher rank are removed first.
const (
	rankState = iota
	rankIteration
	rankTime
	rankProvider
	rankAttempt
	rankUsage
)

// facts removes the facts without a text.
func facts(all ...Fact) []Fact {
	var some []Fact
	for _, f := range all {
		if f.Text != "" {
			some = append(some, f)
		}
	}
	return some
}

func (m *Model) stageFacts(n *plan.Node, ns state.Node, mark Mark, now time.Time) []Fact {
	progress, since := iterations(ns.Loop, n.Termination.Max(), mark), clock(ns, mark, now)
	if len(ns.Order) > 0 {
		progress = steps(ns)
	}
	if l := ns.Loop; mark == Running && l.IterationStartedAt != nil {
		since = screen.Clock(now.Sub(*l.IterationStartedAt))
	}
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
		Fact{run, rankIteration}, Fact{"pipeline " + screen.Clean(n.Ref), rankProvider}, Fact{clock(ns, m.statusMark(ns.Status), now), rankTime},
		Fact{visit(ns), rankAttempt}, Fact{m.usage(n.Path), rankUsage},
	)
}

// iterations returns "iteration 3/5" of a running loop, else the number of completed iterations.
func iterations(l state.Loop, limit int, mark Mark) string {
	switch {
	case mark == Pending || mark == Skipped:
		return ""
	case mark == Done:
		return screen.Plural(max(l.CountedIterations(), 0), "iteration")
	case l.Iteration == 0:
		return ""
	case limit >= l.Iteration: // retries of a stage exceed it
		return fmt.Sprintf("iteration %d/%d", l.Iteration, limit)
	default:
		return fmt.Sprintf("iteration %d", l.Iteration)
	}
}

func steps(ns state.Node) string {
	done := 0
	for _, s := range ns.Steps {
		if s.Status.Done() {
			done++
		}
	}
	return fmt.Sprintf("%d/%d steps done", done, len(ns.Order))
}

// clock returns the duration of a node so far.
func clock(ns state.Node, mark Mark, now time.Time) string {
	switch {
	case ns.StartedAt.IsZero():
		return ""
	case ns.EndedAt != nil:
		return screen.Clock(ns.EndedAt.Sub(ns.StartedAt))
	case mark == Running || mark == Waiting:
		return screen.Clock(now.Sub(ns.StartedAt))
	default:
		return ""
	}
}

func attempt(l state.Loop, mark Mark) string {
	if l.Attempt < 2 || mark == Done || mark == Skipped {
		return ""
	}
	return fmt.Sprintf("attempt %d", l.Attempt)
}

func visit(ns state.Node) string {
	if ns.Visit < 2 {
		return ""
	}
	return fmt.Sprintf("visit %d", ns.Visit)
}

// usage returns the consumption of a node: "1,554 tokens, $0.0213".
func (m *Model) usage(path string) string {
	u := m.consumption[path]
	for at, w := range m.work {
		if at.path == path {
			u = u.Plus(w.usage)
		}
	}
	return spent(u)
}

func spent(u event.Usage) string {
	text := ""
	if n := event.Sum(event.Sum(u.InputTokens, u.OutputTokens), event.Sum(u.CacheReadTokens, u.CacheWriteTokens)); n != nil {
		text = screen.Count(*n) + " tokens"
	}
	if u.CostUSD == nil {
		return text
	}
	if text != "" {
		text += ", "
	}
	return text + screen.Dollars(*u.CostUSD)
}

// activity describes the current work at a position.
func (m *Model) activity(at position, l state.Loop, mark Mark) string {
	if mark != Running {
		return ""
	}
	switch l.Phase {
	case state.PhaseMeasure, state.PhaseSettle:
		return "checking the work"
	case state.PhaseDecide:
		return "deciding what is next"
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
func (m *Model) until(at position) string {
	var due time.Time
	for key, t := range m.state.Timers {
		_, location, _, ok := key.Parse()
		if !ok || t.Purpose == state.PurposeGuardrail || t.Purpose == state.PurposeEscalation || location.Outer() != at.path || location.Branch != at.branch {
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

// failureReason returns the reason for the failure or skip of a node.
func failureReason(mark Mark, ns state.Node) string {
	switch {
	case mark == Failed && ns.Failure != nil:
		return screen.Clean(ns.Failure.Message)
	case mark == Failed && ns.Loop.Failure != nil:
		return screen.Clean(ns.Loop.Failure.Message)
	case mark == Failed || mark == Skipped:
		return screen.Clean(cmp.Or(ns.Skip, ns.Reason))
	default:
		return ""
	}
}
