package look

import (
	"context"
	"errors"
	"os"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/compare"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Diff is `diff <session> <session>`.
type Diff struct {
	First    string `arg:"" name:"session" help:"The one session: running, paused or ended."`
	Second   string `arg:"" name:"other" complete:"session" help:"The other one."`
	Exact    bool   `help:"Also compare every event and every file, without times, ids and the sessions' own names. Neither session may be running."`
	Limit    int    `default:"20" placeholder:"N" help:"How many differences of each kind are told; 0: all. Default: 20."`
	ExitCode bool   `help:"Exit with 40 where the sessions differ. Without it the code says only whether they could be compared."`
}

// Help is shown below the usage.
func (*Diff) Help() string {
	return `The first line says whether the sessions did the same. Then come how each ended, what differs in
plan and inputs, where their ways parted, what came of each stage, and the outputs and artifacts that
differ. Attempts, tokens, cost and time are shown and make no difference.

Examples:
  agent-pipelines diff auth auth-2
  agent-pipelines diff auth auth-2 --json | jq .differ
  agent-pipelines diff auth auth-2 --exact --exit-code`
}

func (v *Diff) Run(ctx context.Context, a *cli.App) error {
	if v.Limit < 0 {
		return cli.UsageError("fewer than no differences cannot be told", "give --limit a number from 0")
	}
	return a.Use(ctx, func(e *engine.Engine) error {
		c, err := v.compare(e)
		if err != nil {
			return err
		}
		if !c.Same && v.ExitCode {
			a.Code = cli.ExitDiffers
		}
		if v.Limit > 0 {
			c.Limit(v.Limit)
		}
		if a.JSON {
			a.Document(c)
			return nil
		}
		return writeDiff(a.Stdout, c)
	})
}

func (v *Diff) compare(e *engine.Engine) (*compare.Comparison, error) {
	agents := redact.New(os.Environ()).Agent()
	var sides [2]*compare.Side
	for i, session := range []string{v.First, v.Second} {
		s := &compare.Side{
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
		if v.Exact && s.Survey.Status.Held {
			return nil, cli.UsageError("session '"+session+"' is running, and --exact compares files that nobody writes", "wait for its end, pause it (`%s pause %s`), or leave --exact out", cli.Program, session)
		}
		sides[i] = s
	}
	c := compare.Of(sides[0], sides[1])
	if !v.Exact {
		return &c, nil
	}
	exact, err := exactly(e.WorkDir(), sides, agents.Text)
	c.AddExact(exact)
	return &c, err
}

// readWithin reads the beginning of a file in a directory, and says whether that is all of it.
func readWithin(dir, path string, most int64) (text string, whole bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", false, err
	}
	defer root.Close()
	return readSome(root, path, most)
}

// exactly compares every event and every file of two sessions.
func exactly(root string, sides [2]*compare.Side, clean func(string) string) ([]compare.Exact, error) {
	var of [2]crashtest.Outcome
	var failed [2]error
	for i, s := range sides {
		of[i], failed[i] = crashtest.Read(s.Survey.Status.Dir, root)
	}
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	var all []compare.Exact
	for _, d := range of[0].Diff(of[1]) {
		all = append(all, compare.Exact{Where: clean(d.Where), Path: clean(d.Path), Values: [2]string{clean(d.Want), clean(d.Got)}})
	}
	return all, nil
}
