package look

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/compare"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Diff is the verb `diff <session> <session>`.
type Diff struct {
	First    string `arg:"" name:"session" help:"The first session: running, paused or ended."`
	Second   string `arg:"" name:"other" complete:"session" help:"The second session."`
	Exact    bool   `help:"Also compare all events and files except times, ids and session names; neither session may be running."`
	Limit    int    `default:"20" placeholder:"N" help:"Maximum differences of each kind; 0: all (default 20)."`
	ExitCode bool   `help:"Exit with 40 if the sessions differ."`
}

// Help returns the text below the usage.
func (*Diff) Help() string {
	return `The first line says whether the sessions did the same. Below it are the status of each session, the
differences in plan and inputs, the first visit that differs, the outcome of each stage, and the
differing outputs and artifacts. Attempts, tokens, cost and time are shown but not compared.

Examples:
  agent-pipelines diff auth auth-2
  agent-pipelines diff auth auth-2 --json | jq .differ
  agent-pipelines diff auth auth-2 --exact --exit-code`
}

// Run implements [cli.Verb].
func (v *Diff) Run(ctx context.Context, a *cli.App) error {
	if v.Limit < 0 {
		return cli.UsageError("--limit cannot be negative", "give --limit a number from 0")
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		c, err := v.compare(e)
		if err != nil {
			return err
		}
		if !c.Equal && v.ExitCode {
			a.Code = cli.ExitDiffers
		}
		if v.Limit > 0 {
			c.Limit(v.Limit)
		}
		a.Print(c, func(to io.Writer) { writeDiff(to, c) })
		return nil
	})
}

func (v *Diff) compare(e *engine.Engine) (*compare.Comparison, error) {
	agents := redact.New(os.Environ()).ForAgent()
	var sides [2]*compare.Snapshot
	for i, session := range []string{v.First, v.Second} {
		s := &compare.Snapshot{
			Clean:    agents.Text,
			Artifact: func(i engine.ArtifactInfo) (*engine.ArtifactContent, error) { return e.ReadArtifact(session, i) },
		}
		var err error
		if s.Survey, err = e.Inspect(session, s.Begin); err != nil {
			return nil, err
		}
		s.Read = func(path string, most int64) (string, bool, error) {
			return readWithin(s.Survey.Status.Dir, path, most)
		}
		if v.Exact && s.Survey.Status.Locked {
			return nil, cli.UsageError("session '"+session+"' is running, and --exact needs files that no process writes", "wait for its end, pause it (`%s pause %s`), or leave --exact out", cli.Program, session)
		}
		sides[i] = s
	}
	c := compare.Diff(sides[0], sides[1])
	if !v.Exact {
		return &c, nil
	}
	exact, err := compareFiles(e.WorkDir(), sides, agents.Text)
	c.AddExact(exact)
	return &c, err
}

// compareFiles compares all events and files of two sessions.
func compareFiles(root string, sides [2]*compare.Snapshot, clean func(string) string) ([]compare.Exact, error) {
	var outcomes [2]crashtest.Outcome
	var errs [2]error
	for i, s := range sides {
		outcomes[i], errs[i] = crashtest.Read(s.Survey.Status.Dir, root)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	var all []compare.Exact
	for _, d := range outcomes[0].Diff(outcomes[1]) {
		all = append(all, compare.Exact{Where: clean(d.Where), Path: clean(d.Path), Values: [2]string{clean(d.Want), clean(d.Got)}})
	}
	return all, nil
}
