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

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/completion"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/telemetry"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/library"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// Console holds the standard streams and the environment of the process.
type Console struct {
	Stdin          io.Reader // nil: no input
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// BundledPlugin is a plugin compiled into the command.
type BundledPlugin struct {
	Name   string
	Plugin func(version string) sdk.Plugin
}

// App is one invocation of the command. It is used from one goroutine.
type App struct {
	Console
	GlobalFlags
	// Parser returns the parser of the whole grammar.
	Parser func() *kong.Kong
	// Selected is the verb of the command line.
	Selected *kong.Node
	// Bundled lists the plugins compiled into the command.
	Bundled []BundledPlugin
	// Code is the exit code of a verb that returns no error.
	Code Exit
	// OfSession reports that Code is the status of a session, which stays valid if the output was lost.
	OfSession bool
	// Unattended reports that no user watches the terminal of the session.
	Unattended bool
	// telemetry exports the running session's telemetry; nil: none. It is set before the run begins.
	telemetry *telemetry.Session
}

// Engine opens an engine configured by the environment and the flags, which logs to logs. The caller closes it.
func (a *App) Engine(logs io.Writer) (*engine.Engine, error) {
	options, err := a.bundledOptions()
	if err != nil {
		return nil, err
	}
	log := NewLogger(a.GlobalFlags, logs)
	options = append(options,
		engine.WithVersion(CurrentBuild().Version),
		engine.WithProgram(Program),
		engine.WithLogger(log),
		engine.WithPluginLogger(newPluginLogger(a.GlobalFlags, log)),
		engine.WithPluginDirs(a.PluginDir...),
		engine.WithReattach(a.Getenv(client.ReattachVariable)),
		engine.WithWorkDir(a.Getenv("PROJECT_ROOT")),
		engine.WithEngineRoot(a.Getenv("AGENT_PIPELINES_ROOT")),
		engine.WithDefaultProvider("claude"), // as the Bash engine
		engine.WithLibrary(library.Files()),
		// The running executable confines plugins, because an agent may be able to replace the file at the program's path.
		engine.WithSandboxHelper("/proc/self/exe", confine.Verb), // package startup handles it
		// Plugins learn whether the spans of a run are exported: telemetry follows the session and the sampler selects the run.
		engine.WithTraces(func(run event.TraceID) bool { return a.telemetry.Sampled(run) }),
	)
	options = append(options, a.hookOptions()...)
	if a.Mocked() {
		options = append(options, engine.WithProviderOverride("mock"))
	}
	return engine.NewEngine(options...)
}

// hookOptions returns the options for AGENT_PIPELINES_SKIP_HOOKS: names of hook actions, "all", and "notify".
func (a *App) hookOptions() []engine.Option {
	names := strings.FieldsFunc(a.Getenv("AGENT_PIPELINES_SKIP_HOOKS"), func(r rune) bool { return r == ',' || r == ' ' })
	options := []engine.Option{engine.WithoutHooks(names...)}
	if slices.Contains(names, "notify") {
		options = append(options, engine.WithoutNotify())
	}
	return options
}

// Mocked reports whether the mock provider replaces every provider.
func (a *App) Mocked() bool { return a.Getenv("MOCK_MODE") == "true" }

// closeLimit bounds the shutdown of the plugin processes.
const closeLimit = 15 * time.Second

// WithEngine calls do with an engine that logs to standard error, and closes the engine.
func (a *App) WithEngine(ctx context.Context, do func(*engine.Engine) error) error {
	eng, err := a.Engine(a.Stderr)
	if err != nil {
		return err
	}
	return errors.Join(do(eng), CloseEngine(ctx, eng))
}

// CloseEngine closes an engine within closeLimit, even if ctx is done.
func CloseEngine(ctx context.Context, eng *engine.Engine) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return eng.Close(ctx)
}

// Terminal returns the descriptor of standard error; ok if it is a terminal that can redraw lines.
func (a *App) Terminal() (fd int, ok bool) {
	f, isFile := a.Stderr.(*os.File)
	if !isFile || !a.canRedraw() {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// canRedraw reports whether lines can be redrawn: not on a dumb terminal, and not in CI, where the log keeps every write.
func (a *App) canRedraw() bool {
	ci := a.Getenv("CI")
	return a.FullScreen() && ci != "true" && ci != "1"
}

// FullScreen reports whether the terminal can move its cursor.
func (a *App) FullScreen() bool {
	name := a.Getenv("TERM")
	return name != "" && !strings.EqualFold(name, "dumb")
}

// Colored reports whether a terminal may get colors.
func (a *App) Colored() bool { return !a.NoColor && a.Getenv("NO_COLOR") == "" }

// Verb is implemented by the target of every command of the grammar.
type Verb interface {
	// Run executes the verb. Its error determines the exit code; without an error, the exit code is App.Code.
	Run(ctx context.Context, a *App) error
}

// bashVerbs lists the verbs of the Bash engine. That engine ran any other first word as a stage: its projects may
// have stages with the names of our other verbs.
var bashVerbs = []string{"loop", "pipeline", "list", "runs", "lint", "dry-run", "test", "status", "tail", "help"}

// CheckAmbiguous returns an error if the first word is a verb and also the name of one of the user's stages. The Bash
// engine ran the stage. The flag --verb selects the verb.
func (a *App) CheckAmbiguous(root *kong.Node, verb string) error {
	if a.Verb || slices.Contains(bashVerbs, verb) || !slices.Contains(CommandNames(root), verb) || verb == StageCommand {
		return nil
	}
	file, found := authoring.FindStage(a.Getenv("PROJECT_ROOT"), a.Getenv("AGENT_PIPELINES_ROOT"), verb)
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

// IsCommand reports whether a word is the name or an alias of a verb below root.
func IsCommand(root *kong.Node, word string) bool {
	return word != StageCommand && completion.Command(root, word) != nil
}

// CommandNames returns the verbs and their aliases, without the hidden verbs.
func CommandNames(root *kong.Node) []string {
	var names []string
	for _, child := range root.Children {
		if child.Type == kong.CommandNode && !child.Hidden {
			names = append(append(names, child.Name), child.Aliases...)
		}
	}
	return names
}

// User returns the name of the user for the journal; "" if unknown.
func (a *App) User() string { return cmp.Or(a.Getenv("USER"), a.Getenv("LOGNAME")) }

// BundledVariable is the environment variable that turns the bundled plugins on (1) or off (0).
const BundledVariable = "AGENT_PIPELINES_BUNDLED"

// bundledOptions returns the options for the bundled plugins, which --no-bundled or BundledVariable turns off.
func (a *App) bundledOptions() ([]engine.Option, error) {
	list := make([]engine.Bundled, 0, len(a.Bundled))
	for _, b := range a.Bundled {
		list = append(list, engine.Bundled{
			Name: b.Name, Args: ServeArguments(b.Name),
			Describe: func() (sdk.Description, error) { return serve.Description(b.Plugin(CurrentBuild().Version)) },
		})
	}
	options := []engine.Option{engine.WithBundled(list...)}
	if a.NoBundled {
		return append(options, engine.WithoutBundled("--no-bundled")), nil
	}
	value := a.Getenv(BundledVariable)
	on, err := strconv.ParseBool(value)
	switch {
	case value == "" || on:
		return options, nil
	case err != nil:
		return nil, UsageError(fmt.Sprintf("%s is '%s'", BundledVariable, value), "write 0 to turn the command's own plugins off, or 1")
	default:
		return append(options, engine.WithoutBundled(BundledVariable+"="+value)), nil
	}
}

// ServeArguments returns the arguments that make the command serve a bundled plugin.
func ServeArguments(name string) []string { return []string{"plugin", "serve", name} }

// These pipelines have their own verbs. A pipeline of the same name in the project takes precedence.
const (
	PipelineDesign    = "design"
	PipelineImplement = "implement"
	PipelineFix       = "fix"
)

// Interactive reports whether standard input and output are terminals.
func (a *App) Interactive() bool {
	in, reads := a.Stdin.(*os.File)
	out, writes := a.OutFile()
	return reads && writes && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// Telemetry starts to export traces and metrics of the running session if the standard OpenTelemetry variables request it.
// It reads only the user's environment, which no file of a project can set. Errors become warnings: the run continues.
func (a *App) Telemetry(ctx context.Context, e *engine.Engine, say func(string)) *telemetry.Session {
	settings, warnings := telemetry.FromEnvironment(a.Getenv)
	for _, w := range warnings {
		say("Warning: " + w)
	}
	session, err := telemetry.Start(ctx, telemetry.Options{
		Settings: settings, Version: CurrentBuild().Version, Warn: func(w string) { say("Warning: " + w) },
		Follow: func(ctx context.Context, session string, observe func(engine.Update) error) error {
			return e.Follow(ctx, session, -1, observe)
		},
	})
	if err != nil {
		say("Warning: no telemetry is sent: " + err.Error())
	}
	a.telemetry = session
	return session
}

// OutFile returns standard output as a file, if it is one.
func (a *App) OutFile() (f *os.File, ok bool) {
	to := a.Stdout
	if o, ok := to.(*Output); ok {
		to = o.Writer
	}
	f, ok = to.(*os.File)
	return f, ok
}
