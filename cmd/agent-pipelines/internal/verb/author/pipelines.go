package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/scaffold"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Pipelines is the verb `pipelines` with its subcommands list, show and copy.
type Pipelines struct {
	List pipelinesListVerb `cmd:"" help:"List the project's and the shipped pipelines."`
	Show pipelinesShowVerb `cmd:"" help:"Print a pipeline's file."`
	Copy pipelinesCopyVerb `cmd:"" help:"Copy a pipeline into the project."`
}

// pipelinesListVerb is the verb `pipelines list`.
type pipelinesListVerb struct{}

// Run implements [cli.Verb].
func (*pipelinesListVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Pipelines, error) {
		all, err := e.Authoring().Pipelines(ctx)
		return document.Pipelines{Pipelines: plugins.NonNil(all)}, err
	}, func(to io.Writer, all document.Pipelines) {
		table := cli.NewTable(to, "PIPELINE\tNODES\tFILE\tDESCRIPTION")
		for _, p := range all.Pipelines {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", screen.Clean(p.Name), screen.Clean(strings.Join(p.Nodes, " ")), fileText(p.File, p.Shadows), descriptionText(p.Description, p.Passed))
		}
		table.End()
	})
}

// pipelinesShowVerb is the verb `pipelines show <pipeline>`.
type pipelinesShowVerb struct {
	Name string `arg:"" name:"pipeline" help:"The pipeline's name or file."`
}

// Run implements [cli.Verb].
func (v *pipelinesShowVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Pipeline, error) {
		file, text, err := e.Authoring().PipelineText(v.Name)
		return document.Pipeline{File: file, Text: string(text)}, err
	}, func(to io.Writer, p document.Pipeline) { _, _ = io.WriteString(to, p.Text) })
}

// pipelinesCopyVerb is the verb `pipelines copy <pipeline> [name]`.
type pipelinesCopyVerb struct {
	Name string `arg:"" name:"pipeline" help:"The pipeline's name or file."`
	As   string `arg:"" optional:"" name:"name" help:"Name of the copy (default the pipeline's name, which the copy then overrides)."`
}

// nameLine matches the line with a pipeline's name, which is replaced in a copy with another name.
var nameLine = regexp.MustCompile(`(?m)^name:[ \t]*[^\s>|&*].*$`)

// Run implements [cli.Verb].
func (v *pipelinesCopyVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		from, text, err := e.Authoring().PipelineText(v.Name)
		if err != nil {
			return err
		}
		name := cmp.Or(v.As, strings.TrimSuffix(path.Base(filepath.ToSlash(v.Name)), ".yaml"))
		if strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") || name == "" {
			return cli.UsageError(fmt.Sprintf("invalid pipeline name '%s'", name), "a name has no slash and does not begin with a dot")
		}
		file := path.Join(".claude/pipelines", name+".yaml")
		if v.As != "" {
			text = nameLine.ReplaceAllLiteral(text, []byte("name: "+strconv.Quote(name)))
		}
		placed, err := scaffold.Place(e.WorkDir(), map[string][]byte{file: text})
		if exists := (*scaffold.ExistsError)(nil); errors.As(err, &exists) || len(placed.Existing) > 0 {
			return cli.UsageError(file+" is there already", "give the copy another name: `%s pipelines copy %s NAME`", cli.Program, v.Name)
		}
		if err != nil {
			return fmt.Errorf("copy the pipeline: %w", err)
		}
		return a.Print(document.PipelineCopy{From: from, File: file}, func(to io.Writer) {
			fmt.Fprintf(to, "Copied %s to %s\nNext: change it, then\n  %[3]s lint pipeline %[4]s\n  %[3]s dry-run pipeline %[4]s\n  %[3]s start %[4]s \"<request>\"\n", from, file, cli.Program, name)
		}, cli.Program+" lint pipeline "+cli.ShellWord(name), cli.Program+" dry-run pipeline "+cli.ShellWord(name))
	})
}
