package main

import (
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
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
)

// console is the world of the process as the command sees it.
type console struct {
	stdin          io.Reader // nil is nobody
	stdout, stderr io.Writer
	getenv         func(string) string
}

// app is one invocation of the command. It is used from one goroutine.
type app struct {
	console
	settings
	parser *kong.Kong
	code   exit // of a run that ended without an error
	// ofSession: code tells how a session stands, which holds whether or not somebody read it.
	ofSession bool
	// unattended: nobody watches the terminal that a session runs in.
	unattended bool
	// sent is what follows the session that runs, nil where nothing is sent. It is set before the run begins.
	sent *telemetry.Session
}

// run does what the line says and returns the code to exit with.
func run(ctx context.Context, args []string, c console) exit {
	var l line
	out := &output{Writer: c.stdout}
	c.stdout = out
	a := &app{console: c, parser: newParser(&l, c)}
	err := a.dispatch(ctx, &l, args)
	if err != nil && !errors.Is(out.fault(), err) {
		a.printError(err)
		if a.JSON && out.fault() != nil { // so that it was said to nobody
			a.JSON = false
			a.printError(err)
		}
		return exitOf(err)
	}
	lost := out.fault()
	if lost == nil {
		return a.code
	}
	faultOf(lost).print(a.stderr) // there is room for JSON no more
	if a.ofSession || a.code != exitDone {
		return a.code
	}
	return exitOf(lost)
}

func (a *app) dispatch(ctx context.Context, l *line, args []string) error {
	arranged := arrange(a.parser.Model, args)
	a.settings = early(args)
	if arranged.help {
		return a.help(deepen(a.parser.Model.Node, arranged))
	}
	if arranged.verb == "" && len(args) == 0 {
		a.code = exitUsage
		return a.usage(a.stderr, "")
	}
	if err := a.ambiguous(arranged.verb); err != nil {
		return err
	}
	parsed, err := a.parser.Parse(arranged.args)
	if err != nil {
		return a.explain(arranged, err)
	}
	a.settings = l.settings
	v, ok := parsed.Selected().Target.Addr().Interface().(verb)
	if !ok {
		return errors.New("the grammar names a verb that does nothing")
	}
	return v.run(ctx, a)
}

// early reads what must be known before the line is understood: how errors are to be printed, and whether its first word is
// surely a verb.
func early(args []string) settings {
	var s settings
	for _, arg := range args {
		if arg == "--" {
			break
		}
		s.JSON = s.JSON || arg == "--json" || arg == "--json=true"
		s.NoColor = s.NoColor || arg == "--no-color"
		s.Verb = s.Verb || arg == "--verb"
	}
	return s
}

// explain makes the parser's error one for people.
func (a *app) explain(arranged arrangement, err error) error {
	verb := arranged.verb
	if number := negative(arranged.args); number != "" && strings.HasPrefix(err.Error(), "unknown flag "+number[:2]) {
		err = fmt.Errorf("%s is no flag, and no number here can be negative", number)
	}
	text := strings.ReplaceAll(err.Error(), "a valid 64 bit int", "a whole number")
	near := ""
	if word, stray := strings.CutPrefix(text, "unexpected argument "); stray && !strings.Contains(text, "did you mean") {
		for _, child := range a.parser.Model.Children {
			if child.Name == verb {
				near = didYouMean(word, commandNames(child))
			}
		}
	}
	switch verb {
	case "":
		return usageError(text, "see `%s --help`", program)
	case stageCommand:
		verb = "loop" // which it is short for
	}
	return usageError(text, "%ssee `%s help %s`", near, program, verb)
}

// negative is the first word that looks like a negative number, "" for none.
func negative(args []string) string {
	for _, arg := range args {
		if n, err := strconv.Atoi(arg); err == nil && n < 0 {
			return arg
		}
	}
	return ""
}

// usage prints the help of a verb ("plugins", "plugins lock"), or of the whole command for "".
func (a *app) usage(to io.Writer, verb string) error {
	a.parser.Stdout = to
	for _, child := range a.parser.Model.Children {
		child.DefaultCmd = nil // a verb that has others is explained itself
	}
	traced, err := kong.Trace(a.parser, strings.Fields(verb))
	if err != nil {
		return err
	}
	return traced.PrintUsage(false)
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
