package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Fact is a detail of a row. A row that is too narrow drops facts with a higher rank first.
type Fact struct {
	Text string
	Rank int
}

// These are the ranks of facts.
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
	return slices.DeleteFunc(all, func(f Fact) bool { return f.Text == "" })
}

func factText(all []Fact) string {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Text
	}
	return strings.Join(texts, " · ")
}

// fitting returns as many facts as fit in limit columns, at least one, and drops the last fact of the highest rank first.
func fitting(all []Fact, limit int) []Fact {
	all = slices.Clone(all)
	for len(all) > 1 && screen.Columns(factText(all)) > limit {
		least := 0
		for i, f := range all {
			if f.Rank >= all[least].Rank {
				least = i
			}
		}
		all = slices.Delete(all, least, least+1)
	}
	return all
}

// factLine returns facts as a line; style returns the style of each.
func factLine(all []Fact, style func(Fact) screen.Style) screen.Line {
	var line screen.Line
	for i, f := range all {
		if i > 0 {
			line = append(line, screen.Span{Text: " · ", Style: screen.Faint})
		}
		line = append(line, screen.Span{Text: f.Text, Style: style(f)})
	}
	return line
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
	case limit >= l.Iteration:
		return fmt.Sprintf("iteration %d/%d", l.Iteration, limit)
	default: // retries of a stage exceed the limit
		return fmt.Sprintf("iteration %d", l.Iteration)
	}
}

func branchIterations(b state.Branch) string {
	total := 0
	for _, d := range b.Done {
		total += d.Iterations
	}
	return screen.Plural(total, "iteration")
}

func stepsDone(ns state.Node) string {
	done := 0
	for _, s := range ns.Steps {
		if s.Status.Done() {
			done++
		}
	}
	return fmt.Sprintf("%d/%d steps done", done, len(ns.Order))
}

// nodeClock returns the duration of a node so far.
func nodeClock(ns state.Node, mark Mark, now time.Time) string {
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

// iterationClock returns the duration of a running iteration, "" if none runs.
func iterationClock(l state.Loop, mark Mark, now time.Time) string {
	if l.IterationStartedAt == nil || mark != Running {
		return ""
	}
	return screen.Clock(now.Sub(*l.IterationStartedAt))
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

// spent returns a consumption as text: "1,554 tokens, $0.0213".
func spent(u event.Usage) string {
	var parts []string
	if n := event.Sum(event.Sum(u.InputTokens, u.OutputTokens), event.Sum(u.CacheReadTokens, u.CacheWriteTokens)); n != nil {
		parts = append(parts, screen.Count(*n)+" tokens")
	}
	if u.CostUSD != nil {
		parts = append(parts, screen.Dollars(*u.CostUSD))
	}
	return strings.Join(parts, ", ")
}

// failureReason returns the reason for the failure or skip of a node.
func failureReason(mark Mark, ns state.Node) string {
	switch failure := cmp.Or(ns.Failure, ns.Loop.Failure); {
	case mark == Failed && failure != nil:
		return screen.Clean(failure.Message)
	case mark == Failed || mark == Skipped:
		return screen.Clean(cmp.Or(ns.Skip, ns.Reason))
	default:
		return ""
	}
}
