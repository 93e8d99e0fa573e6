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
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
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
  fish: agent-pipelines completion fish > ~/.config/fish/completions/agent-pipelines.fish`
}

// Run implements [cli.Verb].
func (v *Completion) Run(_ context.Context, a *cli.App) error {
	script, err := completion.Script(v.Shell)
	if err != nil {
		return err
	}
	return a.Print(document.Completion{Shell: v.Shell, Script: script}, func(to io.Writer) { _, _ = io.WriteString(to, script) })
}

// Complete is the hidden verb `__complete -- <word>...`. The completion scripts call it with the words up to the cursor,
// and it prints the candidates for the last word. It prints no errors, because the user cannot see them.
type Complete struct {
	Words []string `arg:"" optional:"" help:"The words of the command line."`
}

// Run implements [cli.Verb].
func (v *Complete) Run(ctx context.Context, a *cli.App) error {
	place := completion.At(a.Parser().Model.Node, cli.StageCommand, v.Words)
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
	candidates = append(candidates, place.MatchingCandidates(names)...)
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
	case completion.Session: // the newest first
		sessions, _ := e.Sessions()
		return candidates(sessions, func(s engine.SessionInfo) (string, string) {
			return s.Session, strings.TrimSuffix(screen.StatusWord(s.Status, s.Crashed)+", "+s.Stage, ", ")
		})
	case completion.Stage:
		return named(e.Authoring().StageNames())
	case completion.Pipeline:
		return named(e.Authoring().PipelineNames())
	case completion.Node:
		return nodeCandidates(ctx, e, place)
	case completion.Question:
		if len(place.Args) == 0 {
			return nil
		}
		questions, _ := e.Questions(place.Args[0])
		return candidates(questions, func(q engine.Question) (string, string) { return q.ID, q.Text })
	case completion.Provider:
		listing, _ := e.PluginHost().List(ctx)
		return named(plugins.ProviderNames(listing))
	case completion.Plugin:
		listing, _ := e.PluginHost().List(ctx)
		var names []string
		for _, p := range listing.Plugins {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		return named(slices.Compact(names))
	case completion.Setting:
		s, err := e.Authoring().Settings(ctx)
		if err != nil {
			return nil
		}
		return candidates(s.Settings, func(s authoring.Setting) (string, string) { return s.Key, s.Value })
	case completion.Status:
		return named(look.StatusWords)
	case completion.Code:
		return candidates(explain.All(), func(e explain.Entry) (string, string) { return e.Name, e.Title })
	case completion.Example:
		return candidates(gallery.Examples(), func(e gallery.Example) (string, string) { return e.Name, e.Shows })
	case completion.Document:
		return candidates(document.Shapes(), func(s document.Shape) (string, string) { return s.Name, s.About })
	case completion.Help:
		return named(Subjects(a))
	default:
		return nil
	}
}

// candidates returns a candidate for each item; text returns the item's value and its description.
func candidates[T any](items []T, text func(T) (value, description string)) []completion.Candidate {
	var all []completion.Candidate
	for _, item := range items {
		value, description := text(item)
		all = append(all, completion.Candidate{Value: value, Description: description})
	}
	return all
}

func named(names []string) []completion.Candidate {
	return candidates(names, func(name string) (string, string) { return name, "" })
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
	if p, _, err := e.Authoring().PipelinePlan(ctx, name); err == nil && p != nil {
		return candidates(p.Nodes, func(n plan.Node) (string, string) { return n.ID, n.Description })
	}
	s, err := e.Status(name)
	if err != nil {
		return nil
	}
	return candidates(s.Stages, func(n inspect.StageResult) (string, string) { return n.ID, "" })
}
