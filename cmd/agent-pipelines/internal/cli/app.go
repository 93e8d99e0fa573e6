package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/telemetry"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/library"
	"github.com/dodo-digital/agent-pipelines/engine"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// Console is the world of the process as the command sees it.
type Console struct {
	Stdin          io.Reader // nil is nobody
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// BundledPlugin is a plugin that the command carries.
type BundledPlugin struct {
	Name   string
	Plugin func(version string) sdk.Plugin
}

// App is one invocation of the command. It is used from one goroutine.
type App struct {
	Console
	GlobalFlags
	Parser *kong.Kong
	// Bundled are the plugins that the command carries.
	Bundled []BundledPlugin
	Code    Exit // of a run that ended without an error
	// ofSession: code tells how a session stands, which holds whether or not somebody read it.
	OfSession bool
	// unattended: nobody watches the terminal that a session runs in.
	Unattended bool
	// sent is what follows the session that runs, nil where nothing is sent. It is set before the run begins.
	sent *telemetry.Session
}

// Engine opens the kernel as the environment and the flags say. What it logs goes to logs.
func (a *App) Engine(logs io.Writer) (*engine.Engine, error) {
	options, err := a.bundle()
	if err != nil {
		return nil, err
	}
	log := NewLogger(a.GlobalFlags, logs)
	options = append(options,
		engine.WithVersion(CurrentBuild().Version),
		engine.WithLogger(log),
		engine.WithPluginLogger(newPluginLogger(a.GlobalFlags, log)),
		engine.WithPluginDirs(a.PluginDir...),
		engine.WithReattach(a.Getenv(client.ReattachVariable)),
		engine.WithWorkDir(a.Getenv("PROJECT_ROOT")),
		engine.WithEngineRoot(a.Getenv("AGENT_PIPELINES_ROOT")),
		engine.WithDefaultProvider("claude"), // as the Bash engine
		engine.WithLibrary(library.Files()),
	)
	options = append(options, confining()...)
	options = append(options, a.skipped()...)
	options = append(options, a.traced()...)
	if a.Mocked() {
		options = append(options, engine.WithProviderOverride("mock"))
	}
	return engine.NewEngine(options...)
}

// skipped are the effects elsewhere that AGENT_PIPELINES_SKIP_HOOKS leaves out: names of hooks' actions, all, and notify.
func (a *App) skipped() []engine.Option {
	names := strings.FieldsFunc(a.Getenv("AGENT_PIPELINES_SKIP_HOOKS"), func(r rune) bool { return r == ',' || r == ' ' })
	options := []engine.Option{engine.WithoutHooks(names...)}
	if slices.Contains(names, "notify") {
		options = append(options, engine.WithoutNotify())
	}
	return options
}

// Mocked says whether the mock answers in the place of every provider.
func (a *App) Mocked() bool { return a.Getenv("MOCK_MODE") == "true" }

// closeLimit is how long the end of the plugins' processes may take.
const closeLimit = 15 * time.Second

// Use opens an engine for a verb that runs nothing, and closes it after.
func (a *App) Use(ctx context.Context, do func(*engine.Engine) error) error {
	eng, err := a.Engine(a.Stderr)
	if err != nil {
		return err
	}
	return errors.Join(do(eng), Shut(ctx, eng))
}

func Shut(ctx context.Context, eng *engine.Engine) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return eng.Close(ctx)
}

// Terminal is standard error's descriptor where it is a terminal that can redraw lines.
func (a *App) Terminal() (fd int, ok bool) {
	f, isFile := a.Stderr.(*os.File)
	if !isFile || !a.redraws() {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// redraws says whether the environment is one in which lines can be drawn again: not on a dumb terminal, and not where
// a CI system keeps what is written, though some give it a terminal.
func (a *App) redraws() bool {
	ci := a.Getenv("CI")
	return a.FullScreen() && ci != "true" && ci != "1"
}

// FullScreen says whether a terminal can move its cursor.
func (a *App) FullScreen() bool {
	name := a.Getenv("TERM")
	return name != "" && !strings.EqualFold(name, "dumb")
}

// Colored says whether colors are wanted on a terminal.
func (a *App) Colored() bool { return !a.NoColor && a.Getenv("NO_COLOR") == "" }

// GlobalFlags are the flags that every verb takes.
type GlobalFlags struct {
	JSON      bool     `name:"json" help:"Print JSON on standard output: the result or the error as one object, and before it, while a session runs, each event in a line."`
	Quiet     bool     `short:"q" xor:"talk" help:"Say nothing while running."`
	Verbose   bool     `short:"v" xor:"talk" help:"Say more while running, the agents' text too."`
	NoColor   bool     `help:"Do not use colors. NO_COLOR does the same."`
	LogLevel  string   `enum:"trace,debug,info,warn,error,off" default:"warn" env:"AGENT_PIPELINES_LOG_LEVEL" placeholder:"LEVEL" help:"What is logged: trace, debug, info, warn, error or off. Default: warn."`
	PluginLog string   `name:"plugin-log-level" enum:"trace,debug,info,warn,error,off," default:"" env:"AGENT_PIPELINES_PLUGIN_LOG_LEVEL" placeholder:"LEVEL" help:"What is logged of the plugins' own lines. Default: as --log-level."`
	LogFormat string   `enum:"pretty,json" default:"pretty" placeholder:"FORMAT" help:"How it is logged: pretty or json. Default: pretty."`
	PluginDir []string `type:"path" sep:"none" placeholder:"DIR" help:"Look for plugins here first. May be given several times."`
	NoBundled bool     `help:"Use none of the plugins that the command carries (AGENT_PIPELINES_BUNDLED=0 does the same)."`
	Verb      bool     `hidden:"" help:"The first word is a verb, though a stage has its name."`
	Usage     bool     `name:"help" short:"h" help:"Show help."`
}

// Verb is implemented by the target of every command of the grammar. An error decides the exit code;
// verbs that run a session set it in the app.
type Verb interface {
	Run(ctx context.Context, a *App) error
}

const Program = "agent-pipelines"

// Confine makes the command confine itself and become a plugin. It comes before the grammar, which costs time.
const Confine = "__sandbox"

// confining is the option by which plugins can be confined: by the very file that runs, whatever an agent that may
// write where this program lies puts in its place.
func confining() []engine.Option {
	return []engine.Option{engine.WithSandboxHelper("/proc/self/exe", Confine)}
}

// bashVerbs are the words that were no stages for the Bash engine either. All other verbs may be names of stages in its
// projects, which were started by them.
var bashVerbs = []string{"loop", "pipeline", "list", "runs", "lint", "dry-run", "test", "status", "tail", "help"}

// Ambiguous refuses a first word that is a verb and also the name of one of the user's stages: what ran the stage with the
// Bash engine would do something else here. --verb says that the verb is meant.
func (a *App) Ambiguous(verb string) error {
	if a.Verb || slices.Contains(bashVerbs, verb) || !slices.Contains(CommandNames(a.Parser.Model.Node), verb) || verb == StageCommand {
		return nil
	}
	file, found := engine.FindStage(a.Getenv("PROJECT_ROOT"), a.Getenv("AGENT_PIPELINES_ROOT"), verb)
	if !found {
		return nil
	}
	meant := fmt.Sprintf("`%s %s --verb …` is the verb", Program, verb)
	if slices.Contains([]string{PipelineDesign, PipelineImplement, PipelineFix}, verb) {
		meant = fmt.Sprintf("`%s start %s \"<request>\"` the pipeline", Program, verb)
	}
	return UsageError(fmt.Sprintf("'%s' is a verb, and a stage of this project (%s)", verb, file), "`%s loop %s` runs the stage, %s", Program, verb, meant)
}

// StageCommand is the command behind `agent-pipelines <stage>`. No stage can have this name.
const StageCommand = "<stage>"

// IsCommand says whether a word is a verb or another name of one.
func IsCommand(root *kong.Node, word string) bool {
	return word != StageCommand && slices.ContainsFunc(root.Children, func(child *kong.Node) bool {
		return child.Type == kong.CommandNode && (child.Name == word || slices.Contains(child.Aliases, word))
	})
}

// CommandNames are the verbs and their other names, without those that are for programs.
func CommandNames(root *kong.Node) []string {
	var names []string
	for _, child := range root.Children {
		if child.Type == kong.CommandNode && !child.Hidden {
			names = append(append(names, child.Name), child.Aliases...)
		}
	}
	return names
}

// User is who acts, for the journal.
func (a *App) User() string { return cmp.Or(a.Getenv("USER"), a.Getenv("LOGNAME")) }

// Arguments are the flags for another process of this program that works the same way. It prints for
// people, whatever this one does.
func (s GlobalFlags) Arguments() []string {
	args := []string{"--log-level=" + s.LogLevel, "--log-format=" + s.LogFormat}
	for _, dir := range s.PluginDir {
		args = append(args, "--plugin-dir="+dir)
	}
	for _, flag := range []struct {
		given bool
		name  string
	}{{s.Quiet, "--quiet"}, {s.Verbose, "--verbose"}, {s.NoColor, "--no-color"}, {s.NoBundled, "--no-bundled"}} {
		if flag.given {
			args = append(args, flag.name)
		}
	}
	return args
}

// Foreground is a command that runs in the foreground of whatever starts it, which nobody watches. The words come
// behind "--", since they may look like flags.
func (s GlobalFlags) Foreground(verb string, flags, words []string) []string {
	return slices.Concat([]string{verb, "--verb", "--foreground", "--unattended"}, s.Arguments(), flags, []string{"--"}, words)
}

// BundledVariable turns the plugins that the command carries on and off, as --no-bundled does.
const BundledVariable = "AGENT_PIPELINES_BUNDLED"

// bundle gives the engine the command's own plugins, unless the flag or the environment says no.
func (a *App) bundle() ([]engine.Option, error) {
	list := make([]engine.Bundled, 0, len(a.Bundled))
	for _, b := range a.Bundled {
		list = append(list, engine.Bundled{
			Name: b.Name, Args: Serving(b.Name),
			Describe: func() (sdk.Description, error) { return serve.Describe(b.Plugin(CurrentBuild().Version)) },
		})
	}
	options := []engine.Option{engine.WithBundled(list...)}
	if a.NoBundled {
		return append(options, engine.WithoutBundled("--no-bundled")), nil
	}
	word := a.Getenv(BundledVariable)
	on, err := strconv.ParseBool(word)
	switch {
	case word == "" || on:
		return options, nil
	case err != nil:
		return nil, UsageError(fmt.Sprintf("%s is '%s'", BundledVariable, word), "write 0 to turn the command's own plugins off, or 1")
	default:
		return append(options, engine.WithoutBundled(BundledVariable+"="+word)), nil
	}
}

// Serving are the words that make the command serve a plugin.
func Serving(name string) []string { return []string{"plugin", "serve", name} }

// The pipelines that have verbs of their own. Whoever has one of the same name in the project starts that.
const (
	PipelineDesign    = "design"
	PipelineImplement = "implement"
	PipelineFix       = "fix"
)

// Interactive says whether a person sits at standard input and output.
func (a *App) Interactive() bool {
	in, reads := a.Stdin.(*os.File)
	out, writes := a.OutFile()
	return reads && writes && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}
