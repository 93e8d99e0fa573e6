package machine

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/gallery"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/completion"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/engine"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Completion is the verb `completion <shell>`.
type Completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help returns the text below the usage.
func (*Completion) Help() string {
	return `The script completes verbs, flags and their values, and the names of sessions, stages, pipelines,
nodes, questions and plugins. It executes nothing of the project. Add one of these lines to the
startup file of your shell:

  bash: source <(agent-pipelines completion bash)      in ~/.bashrc
  zsh:  source <(agent-pipelines completion zsh)       in ~/.zshrc, below compinit
  fish: agent-pipelines completion fish > ~/.config/fish/completions/agent-pipelines.fish

Examples:
  agent-pipelines completion bash
  agent-pipelines completion zsh
  agent-pipelines completion fish`
}

// Run implements [cli.Verb].
func (v *Completion) Run(_ context.Context, a *cli.App) error {
	script, err := completion.Script(v.Shell)
	if err != nil {
		return err
	}
	return a.Present(document.Completion{Shell: v.Shell, Script: script}, func(to io.Writer) { _, _ = io.WriteString(to, script) })
}

// Complete is the hidden verb `__complete -- <word>...`. The completion scripts call it with the words up to the cursor,
// and it prints the candidates for the last word. It prints no errors, because the user cannot see them.
type Complete struct {
	Words []string `arg:"" optional:"" help:"The words of the command line."`
}

// Run implements [cli.Verb].
func (v *Complete) Run(ctx context.Context, a *cli.App) error {
	place := completion.At(a.Parser.Model.Node, cli.StageCommand, v.Words)
	candidates := place.Candidates
	var names []completion.Candidate
	if place.Kind != completion.None && place.Kind != completion.File {
		quiet := *a
		quiet.Stderr = io.Discard
		_ = quiet.WithEngine(ctx, func(e *engine.Engine) error {
			names = candidatesFor(ctx, a, e, place)
			return nil
		})
	}
	candidates = append(candidates, place.Begun(names)...)
	var lines []string
	for _, c := range candidates {
		lines = append(lines, c.Line()+"\n")
	}
	if len(lines) == 0 && (place.Kind == completion.File || place.Kind == completion.Pipeline) {
		lines = []string{completion.Files + "\n"}
	}
	_, err := io.WriteString(a.Stdout, strings.Join(lines, ""))
	return err
}

// candidatesFor returns the candidates for the kind of word at a place.
func candidatesFor(ctx context.Context, a *cli.App, e *engine.Engine, place completion.Place) []completion.Candidate {
	switch place.Kind {
	case completion.Session:
		return sessionCandidates(e)
	case completion.Stage:
		return namedCandidates(e.Authoring().StageNames())
	case completion.Pipeline:
		return namedCandidates(e.Authoring().PipelineNames())
	case completion.Node:
		return nodeCandidates(ctx, e, place)
	case completion.Question:
		return questionCandidates(e, place)
	case completion.Provider:
		return providerCandidates(ctx, e)
	case completion.Plugin:
		return pluginCandidates(ctx, e)
	case completion.Setting:
		return settingCandidates(ctx, e)
	case completion.Status:
		return namedCandidates(look.StatusWords)
	case completion.Code:
		var codes []completion.Candidate
		for _, entry := range explain.All() {
			codes = append(codes, completion.Candidate{Value: entry.Name, Description: entry.Title})
		}
		return codes
	case completion.Example:
		var names []completion.Candidate
		for _, example := range gallery.Examples() {
			names = append(names, completion.Candidate{Value: example.Name, Description: example.Shows})
		}
		return names
	case completion.Document:
		var names []completion.Candidate
		for _, s := range document.Shapes() {
			names = append(names, completion.Candidate{Value: s.Name, Description: s.About})
		}
		return names
	case completion.Help:
		return namedCandidates(slices.DeleteFunc(append(cli.CommandNames(a.Parser.Model.Node), "exit-codes", "environment"), func(name string) bool { return name == cli.StageCommand }))
	default:
		return nil
	}
}

func namedCandidates(names []string) []completion.Candidate {
	var all []completion.Candidate
	for _, name := range names {
		all = append(all, completion.Candidate{Value: name})
	}
	return all
}

// sessionCandidates returns the sessions, the newest first.
func sessionCandidates(e *engine.Engine) []completion.Candidate {
	sessions, _ := e.Sessions()
	var all []completion.Candidate
	for _, s := range sessions {
		all = append(all, completion.Candidate{Value: s.Session, Description: strings.TrimSuffix(screen.StatusWord(s.Status, s.Crashed)+", "+s.Stage, ", ")})
	}
	return all
}

// nodeCandidates returns the nodes of the pipeline or session on the command line.
func nodeCandidates(ctx context.Context, e *engine.Engine, place completion.Place) []completion.Candidate {
	if len(place.Args) == 0 {
		return nil
	}
	name := place.Args[0]
	if len(place.Verb) > 0 && place.Verb[0] == "dry-run" && len(place.Args) > 1 {
		name = place.Args[1] // after "pipeline"
	}
	var all []completion.Candidate
	if p, _, err := e.Authoring().PipelinePlan(ctx, name); err == nil && p != nil {
		for _, n := range p.Nodes {
			all = append(all, completion.Candidate{Value: n.ID, Description: n.Description})
		}
		return all
	}
	if s, err := e.Status(name); err == nil {
		for _, n := range s.Stages {
			all = append(all, completion.Candidate{Value: n.ID})
		}
	}
	return all
}

// questionCandidates returns the open questions of the session on the command line.
func questionCandidates(e *engine.Engine, place completion.Place) []completion.Candidate {
	if len(place.Args) == 0 {
		return nil
	}
	questions, _ := e.Questions(place.Args[0])
	var all []completion.Candidate
	for _, q := range questions {
		all = append(all, completion.Candidate{Value: q.ID, Description: q.Text})
	}
	return all
}

func providerCandidates(ctx context.Context, e *engine.Engine) []completion.Candidate {
	plugins, _ := e.PluginHost().List(ctx)
	var names []string
	add := func(c sdk.Component) {
		if c.Kind == sdk.KindProvider {
			names = append(names, c.Name)
		}
	}
	for _, c := range plugins.Registered {
		add(c)
	}
	for _, p := range plugins.Plugins {
		for _, c := range p.Description.Components {
			add(c)
		}
	}
	slices.Sort(names)
	return namedCandidates(slices.Compact(names))
}

func pluginCandidates(ctx context.Context, e *engine.Engine) []completion.Candidate {
	plugins, _ := e.PluginHost().List(ctx)
	var names []string
	for _, p := range plugins.Plugins {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return namedCandidates(slices.Compact(names))
}

// settingCandidates returns the settings in the settings files.
func settingCandidates(ctx context.Context, e *engine.Engine) []completion.Candidate {
	s, err := e.Authoring().Settings(ctx)
	if err != nil {
		return nil
	}
	var all []completion.Candidate
	for _, row := range s.Settings {
		all = append(all, completion.Candidate{Value: row.Key, Description: row.Value})
	}
	return all
}
