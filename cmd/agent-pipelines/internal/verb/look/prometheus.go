package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/exposition"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
)

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
		return cli.UsageError("metrics of what?", "`%s metrics session SESSION` shows a session's; `%s metrics --prometheus` prints those of all for Prometheus", cli.Program, cli.Program)
	case a.JSON:
		return cli.UsageError("--json and --prometheus are two formats", "leave one of them out: `%s list --json` names the sessions, `%s metrics session SESSION --json` shows the metrics of one", cli.Program, cli.Program)
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
			err = fmt.Errorf("nothing of its run can be read; `%s status %s` says why", cli.Program, s.Session)
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
		if !slices.ContainsFunc(all, func(s engine.SessionInfo) bool { return s.Session == name }) {
			_, err := e.Metrics(name) // its error describes an invalid name better
			return nil, cmp.Or(err, cli.UsageError(fmt.Sprintf("'%s' is no session of this directory", name), "%s list shows them", cli.Program))
		}
	}
	return sessions, nil
}
