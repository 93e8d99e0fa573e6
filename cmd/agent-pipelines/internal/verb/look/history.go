package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// sessionHistoryVerb is the verb `session history <session>`.
type sessionHistoryVerb struct {
	Session string `arg:"" help:"The session."`
	Cycles  bool   `help:"Show only returns to earlier stages."`
}

// Run implements [cli.Verb].
func (v *sessionHistoryVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		h, err := e.History(v.Session)
		if err != nil {
			return err
		}
		if v.Cycles {
			h.Visits = slices.DeleteFunc(h.Visits, func(v engine.Visit) bool { return v.Edge == "" })
		}
		a.Print(h, func(to io.Writer) {
			if h.Damage != "" {
				fmt.Fprintln(a.Stderr, "Not all of it can be read: "+screen.Clean(h.Damage))
			}
			if v.Cycles {
				writeReturns(to, h)
			} else {
				writeHistory(to, h)
			}
		})
		return nil
	})
}

// reasonWidth is the maximum width of a reason in a table, in columns.
const reasonWidth = 100

// writeHistory writes a row for every visit.
func writeHistory(to io.Writer, h *engine.History) {
	if len(h.Visits) == 0 {
		fmt.Fprintf(to, "Session '%s' has entered no stage yet.\n", h.Session)
		return
	}
	table := newTable(to, "STARTED\tSTAGE\tVISIT\tOUTCOME\tTIME\tATTEMPTS\tRETRIES\tSTAGE RETRIES\tNEXT\tREASON")
	for _, v := range h.Visits {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n",
			v.StartedAt.Local().Format(time.DateTime), screen.Clean(v.Stage), visitText(v), outcomeText(v, h.Status), durationText(v.DurationMS),
			v.Attempts, v.Retries, v.StageRetries, nextText(v), screen.Cut(screen.Clean(v.Reason), reasonWidth))
	}
	table.end()
}

// outcomeText returns a visit's outcome or status. An unfinished visit has the status of its session.
func outcomeText(v engine.Visit, session state.Status) string {
	if v.Status == string(state.NodeRunning) && session != state.Running {
		return string(session)
	}
	return cmp.Or(v.Outcome, v.Status)
}

// visitText returns the number of a visit, with the number of the pipeline's run if it is not the first.
func visitText(v engine.Visit) string {
	if v.Run > 1 {
		return fmt.Sprintf("%d (run %d)", v.Visit, v.Run)
	}
	return fmt.Sprint(v.Visit)
}

// nextText returns the node after a visit: "execute (cycle 1/3)".
func nextText(v engine.Visit) string {
	switch {
	case v.Edge != "":
		return fmt.Sprintf("%s (cycle %d/%d)", screen.Clean(v.To), v.Cycle, v.Limit)
	case v.To == "":
		return "-"
	default:
		return screen.Clean(v.To)
	}
}

// writeReturns writes a row for every cycle.
func writeReturns(to io.Writer, h *engine.History) {
	if len(h.Visits) == 0 {
		fmt.Fprintf(to, "Session '%s' has returned to no earlier stage.\n", h.Session)
		return
	}
	table := newTable(to, "WHEN\tCYCLE\tEDGE\tREASON")
	for _, v := range h.Visits {
		fmt.Fprintf(table, "%s\t%d/%d\t%s\t%s\n",
			v.EndedAt.Local().Format(time.DateTime), v.Cycle, v.Limit, screen.Clean(v.Edge), screen.Cut(screen.Clean(v.Reason), reasonWidth))
	}
	table.end()
}

// durationText returns a duration in milliseconds as text.
func durationText(ms int64) string { return screen.Took(time.Duration(ms) * time.Millisecond) }

// Metrics is the verb `metrics` with `metrics session` and `metrics --prometheus`.
type Metrics struct {
	Session metricsSessionVerb    `cmd:"" help:"Show a session's metrics, in total and per stage."`
	Print   metricsPrometheusVerb `cmd:"" name:"print" default:"withargs" help:"Print metrics of sessions: metrics --prometheus."`
}

// metricsSessionVerb is the verb `metrics session <session>`.
type metricsSessionVerb struct {
	Session string `arg:"" help:"The session."`
}

// Run implements [cli.Verb].
func (v *metricsSessionVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		m, err := e.Metrics(v.Session)
		if err != nil {
			return err
		}
		a.Print(m, func(to io.Writer) { writeMetrics(to, m) })
		return nil
	})
}

// writeMetrics writes a session's metrics as text.
func writeMetrics(to io.Writer, m *engine.Metrics) {
	fmt.Fprintf(to, "Session:   %s (%s)\n", m.Session, cmp.Or(string(m.Status), "running"))
	if m.Pipeline != "" {
		fmt.Fprintf(to, "Pipeline:  %s\n", screen.Clean(m.Pipeline))
	}
	fmt.Fprintf(to, "Duration:  %s\n", durationText(m.DurationMS))
	writeWork(to, "", m.Work, 0, 0)
	for _, c := range m.Cycles {
		fmt.Fprintf(to, "Cycle:     %s %d/%d\n", screen.Clean(c.Edge), c.Count, c.Limit)
	}
	fmt.Fprintln(to, "\nStage Metrics:")
	for i := range m.Stages {
		writeStage(to, &m.Stages[i])
	}
}

func writeStage(to io.Writer, s *engine.StageMetrics) {
	about := ""
	if s.Kind == plan.KindPipeline {
		about = " (with its stages, which follow)"
	}
	fmt.Fprintf(to, "  %s%s:\n", screen.Clean(s.Stage), about)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(to, "    %-15s %s\n", name+":", text)
		}
	}
	row("Outcome", s.Outcome)
	row("Duration", durationText(s.DurationMS))
	if s.Visits > 1 {
		row("Visits", fmt.Sprint(s.Visits))
	}
	writeWork(to, "    ", s.Work, s.MaxTokens, s.MaxUSD)
	if s.Prompt != nil {
		row("Prompt", fmt.Sprintf("%s / %s tokens", screen.Count(int64(s.Prompt.Tokens)), screen.Count(int64(s.Prompt.Limit))))
	}
	if s.Steps != nil {
		row("Steps", stepsText(*s.Steps))
	}
	if s.Returns > 0 {
		row("Cycles", fmt.Sprint(s.Returns))
	}
}

// writeWork writes the consumption beside its limits; 0 means no limit.
func writeWork(to io.Writer, indent string, w engine.Work, maxTokens int64, maxUSD float64) {
	width := 10
	if indent != "" {
		width = 15
	}
	row := func(name, text string) { fmt.Fprintf(to, "%s%-*s %s\n", indent, width, name+":", text) }
	row("Tokens", tokensText(w.Tokens(), maxTokens, w.UnknownTokens))
	row("Cost", costText(w.Usage.CostUSD, maxUSD, w.UnknownCost))
	row("Attempts", fmt.Sprintf("%d in %s", w.Attempts, screen.Plural(w.Iterations, "iteration")))
	retries := fmt.Sprintf("%d, stage retries: %d", w.Retries, w.StageRetries)
	if w.Heals > 0 {
		retries += fmt.Sprintf(", heals: %d", w.Heals)
	}
	row("Retries", retries)
}

// stepsText returns the counts of steps: "5/7, 1 failed, 1 blocked".
func stepsText(s engine.StepCounts) string {
	parts := []string{fmt.Sprintf("%d/%d", s.Done, s.Count)}
	if s.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", s.Failed))
	}
	if s.Blocked > 0 {
		parts = append(parts, fmt.Sprintf("%d blocked", s.Blocked))
	}
	return strings.Join(parts, ", ")
}

// tokensText returns the tokens used and their limit: "2,450 / 4,000, unknown for 1 call". An unknown number is not 0.
func tokensText(used *int64, most int64, unknown int) string {
	return amountText(used, most, unknown, screen.Count)
}

// costText returns the cost and its limit: "$0.0213 / $2.0000, unknown for 1 call".
func costText(used *float64, most float64, unknown int) string {
	return amountText(used, most, unknown, screen.Dollars)
}

// amountText joins an amount, its limit and the number of calls that reported none.
func amountText[T int64 | float64](used *T, most T, unknown int, format func(T) string) string {
	limit := ""
	if most > 0 {
		limit = " / " + format(most)
	}
	switch {
	case used == nil && unknown > 0:
		return "unknown" + limit + " (" + screen.Plural(unknown, "call") + " did not say)"
	case used == nil:
		return "none" + limit
	case unknown > 0:
		return format(*used) + limit + ", unknown for " + screen.Plural(unknown, "call")
	default:
		return format(*used) + limit
	}
}
