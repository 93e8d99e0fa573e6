package look

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// writeProgress writes the steps, cycles and budgets of a session; row writes one line with a name.
func writeProgress(to io.Writer, row func(name, text string), s *engine.Status) {
	if len(s.Steps) > 0 {
		row("Steps", stepsOf(s))
		writeSteps(to, s.Steps)
	}
	if s.Returns > 0 {
		row("Cycles", fmt.Sprintf("%d of at most %d returns", s.Returns, s.MaxReturns))
	}
	for _, c := range s.Cycles {
		text := fmt.Sprintf("%s %d/%d", c.Edge, c.Count, c.Limit)
		if n := len(c.Reasons); n > 0 {
			text += ": " + c.Reasons[n-1]
		}
		row("  cycle", text)
	}
	for _, b := range s.Budgets {
		if text := screen.Spent(b.Ceiling, b.Used); text != "" {
			row("Budget", cmp.Or(b.Scope, "session")+": "+text)
		}
	}
}

// skips reports whether a resume can leave out a step that failed, and no question says so.
func skips(s *engine.Status) bool {
	said := func(q engine.Question) bool { return q.Commands.SkipFailedStep != "" }
	if slices.ContainsFunc(s.Questions, said) {
		return false
	}
	failed := func(step engine.StepStatus) bool { return step.Status == state.StepFailed }
	return s.ResumeCommand != "" && s.StepsOf == s.Stage && slices.ContainsFunc(s.Steps, failed)
}

// stepsOf is "execute: 3/5 done".
func stepsOf(s *engine.Status) string {
	done := 0
	for _, step := range s.Steps {
		if step.Status.Done() {
			done++
		}
	}
	return fmt.Sprintf("%s: %d/%d done", s.StepsOf, done, len(s.Steps))
}

func writeSteps(to io.Writer, steps []engine.StepStatus) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, s := range steps {
		text := screen.Clean(cmp.Or(s.Title, s.ID))
		if s.Reason != "" && s.Status != state.StepComplete {
			text += ": " + screen.Clean(s.Reason)
		}
		fmt.Fprintf(table, "  %d/%d\t%s\t%s\n", s.N, len(steps), s.Status, screen.Cut(text, reasonWidth))
	}
	_ = table.Flush() // into what is printed; a reader that is gone needs nothing more
}
