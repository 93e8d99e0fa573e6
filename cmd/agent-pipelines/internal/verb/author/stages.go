package author

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/scaffold"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// Stages is the verb `stages` with its subcommands list, show, lint and new.
type Stages struct {
	List stagesListVerb `cmd:"" help:"List the project's and the shipped stages."`
	Show stagesShowVerb `cmd:"" help:"Show a stage's prompt, termination and artifact schema."`
	Lint stagesLintVerb `cmd:"" help:"Check stages (same as lint loop)."`
	New  stagesNewVerb  `cmd:"" help:"Write a new stage into the project."`
}

// stagesListVerb is the verb `stages list`.
type stagesListVerb struct{}

// Run implements [cli.Verb].
func (*stagesListVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Stages, error) {
		all, err := e.Authoring().Stages(ctx)
		return document.Stages{Stages: plugins.NonNil(all)}, err
	}, func(to io.Writer, all document.Stages) {
		table := cli.NewTable(to, "STAGE\tMAKES\tFILE\tDESCRIPTION")
		for _, s := range all.Stages {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", screen.Clean(s.Name), cmp.Or(screen.Clean(s.Artifact), "-"), fileText(s.File, s.Shadows), descriptionText(s.Description, s.Passed))
		}
		table.End()
	})
}

// fileText returns a file and the files of the same name that it overrides.
func fileText(file string, shadows []string) string {
	if len(shadows) == 0 {
		return screen.Clean(file)
	}
	return fmt.Sprintf("%s (overrides %s)", screen.Clean(file), screen.Clean(strings.Join(shadows, ", ")))
}

// descriptionText returns a description with a note on faults.
func descriptionText(text string, passed bool) string {
	if passed {
		return screen.Clean(text)
	}
	return strings.TrimSpace(screen.Clean(text) + " (has faults: lint shows them)")
}

// stagesShowVerb is the verb `stages show <stage>`.
type stagesShowVerb struct {
	Name string `arg:"" name:"stage" help:"The stage."`
}

// Run implements [cli.Verb].
func (v *stagesShowVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (*authoring.StageDetail, error) {
		return e.Authoring().Stage(ctx, v.Name)
	}, cli.Printable(writeStageDetail))
}

// writeStageDetail writes the details of a stage.
func writeStageDetail(to io.Writer, s *authoring.StageDetail) {
	termination, _ := json.Marshal(s.Node.Termination) // it was read from a file
	provider := "-"
	if p := s.Node.Provider; p != nil {
		provider = strings.TrimSpace(p.Type + " " + p.Model)
	}
	variables := "none"
	if len(s.Variables) > 0 {
		variables = "${" + strings.Join(s.Variables, "} ${") + "}"
	}
	makes := "nothing for other nodes"
	if c := s.Node.Artifact; c != nil {
		makes = strings.TrimSpace(fmt.Sprintf("an artifact of type %s %s, asked for again %d times", cmp.Or(c.Type, "generic"), c.Version, c.MaxRetries()))
	}
	for _, row := range []struct{ name, text string }{
		{"Stage", s.Name},
		{"Description", s.Description},
		{"File", fileText(s.File, s.Shadows)},
		{"Prompt", s.Prompt},
		{"Variables", variables},
		{"Termination", string(termination)},
		{"Provider", provider},
		{"Makes", makes},
	} {
		if row.text != "" {
			fmt.Fprintf(to, "%-13s%s\n", row.name+":", row.text)
		}
	}
	var schema bytes.Buffer
	if a := s.Node.Artifact; a != nil && json.Indent(&schema, a.Schema, "", "  ") == nil && schema.Len() > 0 {
		fmt.Fprintf(to, "Schema:\n%s\n", schema.String())
	}
}

// stagesLintVerb is the verb `stages lint <stage>...`.
type stagesLintVerb struct {
	Names []string `arg:"" optional:"" name:"stage" help:"The stages (default all of the project)."`
}

// Run implements [cli.Verb].
func (v *stagesLintVerb) Run(ctx context.Context, a *cli.App) error {
	lint := Lint{Names: append([]string{modeStage}, v.Names...)}
	return lint.Run(ctx, a)
}

// stagesNewVerb is the verb `stages new <stage>`.
type stagesNewVerb struct {
	Name     string `arg:"" name:"stage" help:"The stage's name in pipelines: lower case letters, digits, '-' and '_'."`
	Artifact string `placeholder:"TYPE" help:"Type of the stage's artifact (default the stage's name)."`
}

// Run implements [cli.Verb].
func (v *stagesNewVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		done := document.NewStage{Name: v.Name, Dir: filepath.Join(e.WorkDir(), ".claude", "stages", v.Name)}
		if other, err := e.Authoring().Stage(ctx, v.Name); err == nil {
			done.Before = other.File
		}
		var err error
		if done.Files, err = scaffold.WriteStage(done.Dir, scaffold.Stage{Name: v.Name, Artifact: cmp.Or(v.Artifact, v.Name)}); err != nil {
			return explainNewStage(err)
		}
		return a.Print(done, func(to io.Writer) {
			fmt.Fprintf(to, "Wrote the stage %s into %s:\n", v.Name, cli.RelativePath(e.WorkDir(), done.Dir))
			for _, file := range done.Files {
				fmt.Fprintf(to, "  %s\n", file)
			}
			if done.Before != "" {
				fmt.Fprintf(to, "It overrides %s.\n", done.Before)
			}
			if hidden := a.CheckAmbiguous(a.Parser().Model.Node, v.Name); hidden != nil {
				fmt.Fprintf(to, "Its name is also that of a verb: while the stage exists, `%[1]s %[2]s` runs neither. `%[1]s loop %[2]s` runs the stage,\n"+
					"and `%[1]s %[2]s --verb …` is the verb.\n", cli.Program, v.Name)
			}
			fmt.Fprintf(to, "Next: describe the work in prompt.md and its result in schema.yaml, then\n"+
				"  %[1]s stages lint %[2]s\n  %[1]s dry-run loop %[2]s\n  %[1]s loop %[2]s try 1 --foreground --context \"<request>\"\n"+
				"A pipeline has it as a node: {id: %[2]s, stage: %[2]s}\n", cli.Program, v.Name)
		}, cli.Program+" stages lint "+v.Name, cli.Program+" dry-run loop "+v.Name)
	})
}

// explainNewStage adds a hint to an error of [scaffold.WriteStage].
func explainNewStage(err error) error {
	switch {
	case errors.Is(err, scaffold.ErrName):
		return cli.UsageError(err.Error(), "choose a name of at most 64 lower case letters, digits, '-' and '_' that begins with a letter or digit")
	case errors.Is(err, scaffold.ErrTaken):
		return cli.UsageError(err.Error(), "nothing is overwritten: choose another name, or remove it")
	default:
		return err
	}
}
