package run

import (
	"errors"
	"fmt"
	"os"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// stepSummary writes the summary of a run for the workflow page of GitHub Actions. A nil *stepSummary writes nothing.
type stepSummary struct {
	file  string
	model tree.Model
}

// onGitHub reports whether the output is the log of a GitHub Actions job.
func onGitHub(a *cli.App) bool { return a.Getenv("GITHUB_ACTIONS") == "true" && !a.Unattended }

func newStepSummary(a *cli.App) *stepSummary {
	file := a.Getenv("GITHUB_STEP_SUMMARY")
	if file == "" || !onGitHub(a) {
		return nil
	}
	return &stepSummary{file: file}
}

// observe adds an update to the summary.
func (s *stepSummary) observe(u engine.Update) {
	if s != nil {
		s.model.Observe(u)
	}
}

// write appends the summary and the resume command, if any, to the file.
func (s *stepSummary) write(resume string) error {
	if s == nil {
		return nil
	}
	text := tree.Markdown(&s.model, s.model.LatestEventTime())
	if text == "" {
		return nil
	}
	if resume != "" {
		text += "\nTo continue: `" + resume + "`\n"
	}
	f, err := os.OpenFile(s.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write GITHUB_STEP_SUMMARY: %w", err)
	}
	_, err = f.WriteString(text + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write GITHUB_STEP_SUMMARY: %w", err)
	}
	return nil
}
