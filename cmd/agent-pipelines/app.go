package main

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

// console is the world of the process as the command sees it.
type console struct {
	stdin          io.Reader // nil is nobody
	stdout, stderr io.Writer
	getenv         func(string) string
}

// bundledPlugin is a plugin that the command carries.
type bundledPlugin struct {
	name   string
	plugin func(version string) sdk.Plugin
}

// app is one invocation of the command. It is used from one goroutine.
type app struct {
	console
	settings
	parser *kong.Kong
	// bundled are the plugins that the command carries.
	bundled []bundledPlugin
	code    exit // of a run that ended without an error
	// ofSession: code tells how a session stands, which holds whether or not somebody read it.
	ofSession bool
	// unattended: nobody watches the terminal that a session runs in.
	unattended bool
	// sent is what follows the session that runs, nil where nothing is sent. It is set before the run begins.
	sent *telemetry.Session
}

// engine opens the kernel as the environment and the flags say. What it logs goes to logs.
func (a *app) engine(logs io.Writer) (*engine.Engine, error) {
	options, err := a.bundle()
	if err != nil {
		return nil, err
	}
	log := newLogger(a.settings, logs)
	options = append(options,
		engine.WithVersion(thisBuild().Version),
		engine.WithLogger(log),
		engine.WithPluginLogger(newPluginLogger(a.settings, log)),
		engine.WithPluginDirs(a.PluginDir...),
		engine.WithReattach(a.getenv(client.ReattachVariable)),
		engine.WithWorkDir(a.getenv("PROJECT_ROOT")),
		engine.WithEngineRoot(a.getenv("AGENT_PIPELINES_ROOT")),
		engine.WithDefaultProvider("claude"), // as the Bash engine
		engine.WithLibrary(library.Files()),
	)
	options = append(options, confining()...)
	options = append(options, a.skipped()...)
	options = append(options, a.traced()...)
	if a.mocked() {
		options = append(options, engine.WithProviderOverride("mock"))
	}
	return engine.NewEngine(options...)
}

// skipped are the effects elsewhere that AGENT_PIPELINES_SKIP_HOOKS leaves out: names of hooks' actions, all, and notify.
func (a *app) skipped() []engine.Option {
	names := strings.FieldsFunc(a.getenv("AGENT_PIPELINES_SKIP_HOOKS"), func(r rune) bool { return r == ',' || r == ' ' })
	options := []engine.Option{engine.WithoutHooks(names...)}
	if slices.Contains(names, "notify") {
		options = append(options, engine.WithoutNotify())
	}
	return options
}

// mocked says whether the mock answers in the place of every provider.
func (a *app) mocked() bool { return a.getenv("MOCK_MODE") == "true" }

// closeLimit is how long the end of the plugins' processes may take.
const closeLimit = 15 * time.Second

// use opens an engine for a verb that runs nothing, and closes it after.
func (a *app) use(ctx context.Context, do func(*engine.Engine) error) error {
	eng, err := a.engine(a.stderr)
	if err != nil {
		return err
	}
	return errors.Join(do(eng), shut(ctx, eng))
}

func shut(ctx context.Context, eng *engine.Engine) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return eng.Close(ctx)
}

// terminal is standard error's descriptor where it is a terminal that can redraw lines.
func (a *app) terminal() (fd int, ok bool) {
	f, isFile := a.stderr.(*os.File)
	if !isFile || !a.redraws() {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// redraws says whether the environment is one in which lines can be drawn again: not on a dumb terminal, and not where
// a CI system keeps what is written, though some give it a terminal.
func (a *app) redraws() bool {
	ci := a.getenv("CI")
	return a.fullScreen() && ci != "true" && ci != "1"
}

// fullScreen says whether a terminal can move its cursor.
func (a *app) fullScreen() bool {
	name := a.getenv("TERM")
	return name != "" && !strings.EqualFold(name, "dumb")
}

// colored says whether colors are wanted on a terminal.
func (a *app) colored() bool { return !a.NoColor && a.getenv("NO_COLOR") == "" }

// settings are the flags that every verb takes.
type settings struct {
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

// verb is implemented by the target of every command of the grammar. An error decides the exit code;
// verbs that run a session set it in the app.
type verb interface {
	run(ctx context.Context, a *app) error
}

const program = "agent-pipelines"

// confineVerb makes the command confine itself and become a plugin. It comes before the grammar, which costs time.
const confineVerb = "__sandbox"

// confining is the option by which plugins can be confined: by the very file that runs, whatever an agent that may
// write where this program lies puts in its place.
func confining() []engine.Option {
	return []engine.Option{engine.WithSandboxHelper("/proc/self/exe", confineVerb)}
}

// bashVerbs are the words that were no stages for the Bash engine either. All other verbs may be names of stages in its
// projects, which were started by them.
var bashVerbs = []string{"loop", "pipeline", "list", "runs", "lint", "dry-run", "test", "status", "tail", "help"}

// ambiguous refuses a first word that is a verb and also the name of one of the user's stages: what ran the stage with the
// Bash engine would do something else here. --verb says that the verb is meant.
func (a *app) ambiguous(verb string) error {
	if a.Verb || slices.Contains(bashVerbs, verb) || !slices.Contains(commandNames(a.parser.Model.Node), verb) || verb == stageCommand {
		return nil
	}
	file, found := engine.FindStage(a.getenv("PROJECT_ROOT"), a.getenv("AGENT_PIPELINES_ROOT"), verb)
	if !found {
		return nil
	}
	meant := fmt.Sprintf("`%s %s --verb …` is the verb", program, verb)
	if slices.Contains([]string{pipelineDesign, pipelineImplement, pipelineFix}, verb) {
		meant = fmt.Sprintf("`%s start %s \"<request>\"` the pipeline", program, verb)
	}
	return usageError(fmt.Sprintf("'%s' is a verb, and a stage of this project (%s)", verb, file), "`%s loop %s` runs the stage, %s", program, verb, meant)
}

// stageCommand is the command behind `agent-pipelines <stage>`. No stage can have this name.
const stageCommand = "<stage>"

// isCommand says whether a word is a verb or another name of one.
func isCommand(root *kong.Node, word string) bool {
	return word != stageCommand && slices.ContainsFunc(root.Children, func(child *kong.Node) bool {
		return child.Type == kong.CommandNode && (child.Name == word || slices.Contains(child.Aliases, word))
	})
}

// commandNames are the verbs and their other names, without those that are for programs.
func commandNames(root *kong.Node) []string {
	var names []string
	for _, child := range root.Children {
		if child.Type == kong.CommandNode && !child.Hidden {
			names = append(append(names, child.Name), child.Aliases...)
		}
	}
	return names
}

// user is who acts, for the journal.
func (a *app) user() string { return cmp.Or(a.getenv("USER"), a.getenv("LOGNAME")) }

// arguments are the flags for another process of this program that works the same way. It prints for
// people, whatever this one does.
func (s settings) arguments() []string {
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

// foreground is a command that runs in the foreground of whatever starts it, which nobody watches. The words come
// behind "--", since they may look like flags.
func (s settings) foreground(verb string, flags, words []string) []string {
	return slices.Concat([]string{verb, "--verb", "--foreground", "--unattended"}, s.arguments(), flags, []string{"--"}, words)
}

// bundledVariable turns the plugins that the command carries on and off, as --no-bundled does.
const bundledVariable = "AGENT_PIPELINES_BUNDLED"

// bundle gives the engine the command's own plugins, unless the flag or the environment says no.
func (a *app) bundle() ([]engine.Option, error) {
	list := make([]engine.Bundled, 0, len(a.bundled))
	for _, b := range a.bundled {
		list = append(list, engine.Bundled{
			Name: b.name, Args: serving(b.name),
			Describe: func() (sdk.Description, error) { return serve.Describe(b.plugin(thisBuild().Version)) },
		})
	}
	options := []engine.Option{engine.WithBundled(list...)}
	if a.NoBundled {
		return append(options, engine.WithoutBundled("--no-bundled")), nil
	}
	word := a.getenv(bundledVariable)
	on, err := strconv.ParseBool(word)
	switch {
	case word == "" || on:
		return options, nil
	case err != nil:
		return nil, usageError(fmt.Sprintf("%s is '%s'", bundledVariable, word), "write 0 to turn the command's own plugins off, or 1")
	default:
		return append(options, engine.WithoutBundled(bundledVariable+"="+word)), nil
	}
}

// serving are the words that make the command serve a plugin.
func serving(name string) []string { return []string{"plugin", "serve", name} }

// The pipelines that have verbs of their own. Whoever has one of the same name in the project starts that.
const (
	pipelineDesign    = "design"
	pipelineImplement = "implement"
	pipelineFix       = "fix"
)

// interactive says whether a person sits at standard input and output.
func (a *app) interactive() bool {
	in, reads := a.stdin.(*os.File)
	out, writes := a.outFile()
	return reads && writes && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}
