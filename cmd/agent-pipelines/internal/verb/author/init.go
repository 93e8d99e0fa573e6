package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/gallery"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/scaffold"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/library"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Init is the verb `init`, `init --example NAME` and `init --list`.
type Init struct {
	Name     string `placeholder:"NAME" help:"Name of the pipeline (default first)."`
	Provider string `placeholder:"NAME" complete:"provider" help:"Provider of the pipeline (default: that of your settings, else claude)."`
	Example  string `placeholder:"NAME" complete:"example" help:"Write this example instead, with replies for mock agents."`
	List     bool   `help:"List the examples."`
	Dir      string `type:"path" placeholder:"DIR" help:"Directory to write into, created if missing (default the current directory)."`
}

// Help returns the text below the usage.
func (*Init) Help() string {
	return `The command asks no question and overwrites no file. It prints the next commands.`
}

// Run implements [cli.Verb].
func (v *Init) Run(ctx context.Context, a *cli.App) error {
	switch {
	case v.List && (v.Name != "" || v.Provider != "" || v.Example != "" || v.Dir != ""):
		return cli.UsageError("--list takes no other flags", "`%s init --list` shows the examples", cli.Program)
	case v.List:
		return listExamples(a)
	case v.Example != "" && (v.Name != "" || v.Provider != ""):
		return cli.UsageError("an example has its name and its providers already", "leave --name and --provider out; the pipeline's file can be changed afterwards")
	}
	done, files, err := v.newProject(ctx, a)
	if err != nil {
		return err
	}
	if done.Dir, err = filepath.Abs(cmp.Or(v.Dir, a.Getenv("PROJECT_ROOT"))); err != nil {
		return err
	}
	placed, err := scaffold.Place(done.Dir, files)
	if err != nil {
		return v.explainError(err)
	}
	done.Written, done.Existing = plugins.NonNil(placed.Written), plugins.NonNil(placed.Existing)
	done.Next = append(done.Next, document.Step{Does: "doctor", About: "Check whether your agents are ready", Line: cli.Program + " doctor"})
	return a.Print(done, func(to io.Writer) { writeInitialized(to, a, done) }, nextCommands(a, done)...)
}

// newProject returns the project, its next commands, and the files to write.
func (v *Init) newProject(ctx context.Context, a *cli.App) (document.Project, map[string][]byte, error) {
	if v.Example != "" {
		return exampleProject(v.Example)
	}
	p := scaffold.Project{Name: cmp.Or(v.Name, "first"), Provider: v.Provider}
	files, err := p.Files()
	if err != nil {
		return document.Project{}, nil, cli.UsageError(err.Error(), "choose a name of at most 64 lower case letters, digits, '-' and '_' that begins with a letter or digit")
	}
	if err := checkProvider(ctx, a, v.Provider); err != nil {
		return document.Project{}, nil, err
	}
	done := document.Project{Pipeline: p.Name, Next: []document.Step{
		lintCommand(p.Name),
		{Does: "mock", About: "Run it with mock agents, which need no model and cost nothing", Line: fmt.Sprintf("%s start %s \"say hello\" --provider mock", cli.Program, p.Name)},
		{Does: "real", About: "Run it for real, by " + cmp.Or(v.Provider, "claude, or the provider of your settings"), Line: fmt.Sprintf("%s start %s \"<request>\"", cli.Program, p.Name)},
	}}
	shipped := "pipelines/" + p.Name + ".yaml"
	if f, err := library.Files().Open(shipped); err == nil {
		done.Before = "the shipped " + p.Name
		return done, files, f.Close()
	}
	return done, files, nil
}

// lintCommand returns the command that checks a pipeline.
func lintCommand(pipeline string) document.Step {
	return document.Step{Does: "lint", About: "Check it before anything runs", Line: fmt.Sprintf("%s lint pipeline %s", cli.Program, pipeline)}
}

// exampleProject returns the project and the files of an example of the gallery.
func exampleProject(name string) (document.Project, map[string][]byte, error) {
	all := gallery.Examples()
	i := slices.IndexFunc(all, func(e gallery.Example) bool { return e.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for i, e := range all {
			names[i] = e.Name
		}
		return document.Project{}, nil, cli.UsageError(fmt.Sprintf("there is no example '%s'", name), "%s`%s init --list` shows all of them", cli.DidYouMean(name, names), cli.Program)
	}
	e := all[i]
	files, err := e.Files()
	mocked := fmt.Sprintf("MOCK_MODE=true MOCK_CONFIG=%s %s ", e.Mock, cli.Program)
	next := []document.Step{lintCommand(name), {
		Does: "mock", About: "Run it with mock agents, which need no model and cost nothing",
		Line: mocked + fmt.Sprintf("pipeline %s %s --foreground", name, gallery.Session),
	}}
	for _, words := range e.Then {
		next = append(next, document.Step{Does: "person", About: "It waits for you", Line: mocked + strings.Join(words, " ")})
	}
	about := "Run it for real"
	if e.Real != "" {
		about += " (" + e.Real + ")"
	}
	next = append(next, document.Step{Does: "real", About: about, Line: fmt.Sprintf("%s pipeline %s mine --foreground", cli.Program, name)})
	return document.Project{Pipeline: name, Example: name, Next: next}, files, err
}

// checkProvider returns an error for the name of an unknown provider.
func checkProvider(ctx context.Context, a *cli.App, name string) error {
	if name == "" {
		return nil
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		listing, err := e.PluginHost().List(ctx)
		if err != nil {
			return err
		}
		names := plugins.ProviderNames(listing)
		if slices.Contains(names, name) {
			return nil
		}
		return cli.UnknownProvider(name, names)
	})
}

// explainError adds a hint to an error of [scaffold.Place].
func (v *Init) explainError(err error) error {
	var exists *scaffold.ExistsError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return cli.UsageError(err.Error(), "you have no permission to write there; change to a directory of your own, or name one with --dir DIR")
	case !errors.As(err, &exists):
		return err
	}
	other := "--name gives the pipeline another name"
	if v.Example != "" {
		other = "--dir DIR writes the example into a directory of its own"
	}
	return cli.UsageError(fmt.Sprintf("%v, in %s", err, exists.Dir), "nothing was written, because init overwrites no file: move them away, or %s", other)
}

func writeInitialized(to io.Writer, a *cli.App, done document.Project) {
	page := cli.InfoPage{To: to, Width: a.Width()}
	if len(done.Written) > 0 {
		page.Text("", "Wrote into "+done.Dir+":")
	}
	for _, file := range done.Written {
		fmt.Fprintf(to, "  %s\n", file)
	}
	if len(done.Existing) > 0 {
		page.Text("", "There already, and left as they are: "+strings.Join(done.Existing, ", "))
	}
	if done.Before != "" {
		page.Text("", "The pipeline overrides "+done.Before+".")
	}
	if hidden := a.CheckAmbiguous(a.Parser().Model.Node, done.Pipeline); hidden != nil {
		page.Text("", hidden.Error())
	}
	fmt.Fprintln(to, "\nNext:")
	if here, err := filepath.Abs(a.Getenv("PROJECT_ROOT")); err != nil || here != done.Dir {
		page.Text("  ", "Go there:")
		fmt.Fprintf(to, "    cd %s\n", cli.ShellWord(done.Dir))
	}
	for _, c := range done.Next {
		page.Text("  ", c.About+":")
		fmt.Fprintf(to, "    %s\n", c.Line) // never wrapped, so that users can copy it
	}
}

// nextCommands returns the next commands without placeholders, if the project is the current directory.
func nextCommands(a *cli.App, done document.Project) []string {
	var lines []string
	if here, err := filepath.Abs(a.Getenv("PROJECT_ROOT")); err != nil || here != done.Dir {
		return lines
	}
	for _, c := range done.Next {
		if strings.HasPrefix(c.Line, cli.Program) && !strings.Contains(c.Line, "<") {
			lines = append(lines, c.Line)
		}
	}
	return lines
}

func listExamples(a *cli.App) error {
	rows, wide := []document.Example{}, 0
	for _, e := range gallery.Examples() {
		rows = append(rows, document.Example{Name: e.Name, Shows: e.Shows})
		wide = max(wide, len(e.Name)+2)
	}
	return a.Print(document.Examples{Examples: rows}, func(to io.Writer) {
		page := cli.InfoPage{To: to, Width: a.Width()}
		for _, r := range rows {
			page.HangingText(fmt.Sprintf("%-*s", wide, r.Name), strings.Repeat(" ", wide), r.Shows)
		}
		page.Text("", fmt.Sprintf("`%s init --example NAME` writes one into the project, `--dir DIR` into a directory of its own.", cli.Program))
	})
}
