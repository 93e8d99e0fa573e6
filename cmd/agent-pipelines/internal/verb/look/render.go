package look

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// reasonWidth is the maximum width of a reason in a table, in columns.
const reasonWidth = 100

// durationText returns a duration in milliseconds as text.
func durationText(ms int64) string { return screen.DurationText(time.Duration(ms) * time.Millisecond) }

// writeProgress writes the steps, cycles and budgets of a session. row writes one named line.
func writeProgress(to io.Writer, row func(name, text string), s *engine.Status) {
	if len(s.Steps) > 0 {
		row("Steps", stepsProgress(s))
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

// canSkipStep reports whether a resume can skip a failed step, and no question offers that.
func canSkipStep(s *engine.Status) bool {
	offers := func(q engine.Question) bool { return q.Commands.SkipFailedStep != "" }
	return s.ResumeCommand != "" && why.StepFailed(s) && !slices.ContainsFunc(s.Questions, offers)
}

// stepsProgress returns the progress of steps: "execute: 3/5 done".
func stepsProgress(s *engine.Status) string {
	done := 0
	for _, step := range s.Steps {
		if step.Status.Done() {
			done++
		}
	}
	return fmt.Sprintf("%s: %d/%d done", s.StepsNode, done, len(s.Steps))
}

func writeSteps(to io.Writer, steps []inspect.StepStatus) {
	table := cli.NewTable(to)
	for _, s := range steps {
		text := screen.Clean(cmp.Or(s.Title, s.ID))
		if s.Reason != "" && s.Status != state.StepComplete {
			text += ": " + screen.Clean(s.Reason)
		}
		fmt.Fprintf(table, "  %d/%d\t%s\t%s\n", s.N, len(steps), s.Status, screen.Cut(text, reasonWidth))
	}
	table.End()
}

// StartText returns the node that the run begins with, "" for the first node.
func StartText(p *plan.Plan) string {
	if o := p.Pipeline.Overrides; o != nil && o.Start != "" {
		return o.Start + " (--start)"
	}
	return ""
}

// ExitText returns the node after which the pipeline is complete, "" for the last node.
func ExitText(p *plan.Plan) string {
	id := p.ExitAfter()
	switch {
	case id == "":
		return ""
	case p.Pipeline.Overrides != nil && p.Pipeline.Overrides.ExitAfter == id:
		return id + " (--exit-after)"
	default:
		return id + " (exit_after)"
	}
}

// WriteResume writes the command that resumes a session; nothing for "".
func WriteResume(to io.Writer, command string) {
	if command != "" {
		fmt.Fprintln(to, "To resume: "+command)
	}
}

// WriteWaiting writes the questions of a session and the commands that answer them.
func WriteWaiting(to io.Writer, all []engine.Question) {
	for _, q := range all {
		about := ""
		if q.Stage != "" {
			about = " (stage " + QuestionStage(q, "%s, provider %s") + ")"
		}
		if q.Answer != nil {
			fmt.Fprintf(to, "Question %s%s is %s\n", q.ID, about, answerText(q))
			continue
		}
		text := screen.Clean(q.Text)
		if q.Code != "" {
			text += " [" + q.Code + "]"
		}
		lines := screen.Wrap(fmt.Sprintf("Waiting for you: %s%s: %s", q.ID, about, text), cli.TextWidth, cli.TextWidth-2)
		fmt.Fprintln(to, strings.Join(lines, "\n  "))
		if q.Remedy != "" {
			fmt.Fprintln(to, "  What to do: "+screen.Clean(q.Remedy))
		}
		if until := DueText(q); until != "" {
			fmt.Fprintln(to, "  To be answered by "+until)
		}
		fmt.Fprintln(to, "  To show it: "+q.Commands.Show)
		writeCommands(to, q)
	}
}
