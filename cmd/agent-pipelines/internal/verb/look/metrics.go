package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/exposition"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Metrics is the verb `metrics` with `metrics session` and `metrics --prometheus`.
type Metrics struct {
	Session metricsSessionVerb    `cmd:"" help:"Show a session's metrics, also per stage."`
	Print   metricsPrometheusVerb `cmd:"" name:"print" default:"withargs" help:"Print metrics of sessions: metrics --prometheus."`
}

// metricsSessionVerb is the verb `metrics session <session>`.
type metricsSessionVerb struct {
	Session string `arg:"" help:"The session."`
}

// Run implements [cli.Verb].
func (v *metricsSessionVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (*engine.Metrics, error) { return e.Metrics(v.Session) }, writeMetrics)
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

func writeStage(to io.Writer, s *timeline.Stage) {
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

// writeWork writes the consumption with its limits; 0 means no limit.
func writeWork(to io.Writer, indent string, w timeline.Work, maxTokens int64, maxUSD float64) {
	width := 10
	if indent != "" {
		width = 15
	}
	row := func(name, text string) { fmt.Fprintf(to, "%s%-*s %s\n", indent, width, name+":", text) }
	row("Tokens", tokensText(w.Tokens(), maxTokens, w.UnknownTokens))
	row("Cost", costText(w.Usage.CostUSD, maxUSD, w.UnknownCost))
	row("Attempts", fmt.Sprintf("%d in %s", w.Attempts, screen.Plural(w.Iterations, "iteration")))
	retries := fmt.Sprintf("%d, stage retries: %d", w.Retries, w.StageRetries)
	if w.Cheats > 0 {
		retries += fmt.Sprintf(", cheats: %d", w.Cheats)
	}
	if w.ArtifactRetries > 0 {
		retries += fmt.Sprintf(", heals: %d", w.ArtifactRetries)
	}
	row("Retries", retries)
}

// stepsText returns the counts of steps: "5/7, 1 failed, 1 blocked".
func stepsText(s timeline.Steps) string {
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

// metricsPrometheusVerb is the verb `metrics --prometheus [<session>...]`.
type metricsPrometheusVerb struct {
	Sessions   []string `arg:"" optional:"" name:"session" help:"The sessions (default all of the project)."`
	Prometheus bool     `help:"Print the text format of Prometheus."`
	All        bool     `help:"Print all sessions of the project (default)."`
}

// Run implements [cli.Verb].
func (v *metricsPrometheusVerb) Run(ctx context.Context, a *cli.App) error {
	switch {
	case !v.Prometheus:
		return cli.UsageError("metrics needs a session, or --prometheus", "`%s metrics session SESSION` shows a session's; `%s metrics --prometheus` prints those of all for Prometheus", cli.Program, cli.Program)
	case a.JSON:
		return cli.UsageError("--json and --prometheus contradict each other", "leave one of them out: `%s list --json` names the sessions, `%s metrics session SESSION --json` shows the metrics of one", cli.Program, cli.Program)
	case v.All && len(v.Sessions) > 0:
		return cli.UsageError("--all and the name of a session contradict each other", "leave one of them out")
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		sessions, err := sessionMetrics(a, e, v.Sessions)
		if err != nil {
			return err
		}
		return exposition.Write(a.Stdout, sessions)
	})
}

// sessionMetrics returns the metrics of sessions. A session that is unreadable or has not started is an error if names contains
// it; otherwise it is left out with a warning.
func sessionMetrics(a *cli.App, e *engine.Engine, names []string) ([]exposition.Session, error) {
	all, err := e.Sessions()
	if err != nil {
		return nil, err
	}
	var sessions []exposition.Session
	for _, s := range all {
		if len(names) > 0 && !slices.Contains(names, s.Session) {
			continue
		}
		m, err := e.Metrics(s.Session)
		if err == nil && m.RunID == "" {
			err = fmt.Errorf("its run cannot be read; `%s status %s` says why", cli.Program, s.Session)
		}
		switch {
		case err != nil && len(names) > 0:
			return nil, err
		case err != nil:
			fmt.Fprintf(a.Stderr, "Left out: session '%s': %s\n", s.Session, screen.Clean(err.Error()))
			continue
		}
		sessions = append(sessions, exposition.Session{Metrics: m, Waiting: len(s.Waiting)})
	}
	for _, name := range names {
		if _, err := findSession(e, all, name); err != nil {
			return nil, err
		}
	}
	return sessions, nil
}
