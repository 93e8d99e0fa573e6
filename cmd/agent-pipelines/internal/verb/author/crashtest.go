package author

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
)

// CrashTest is the verb `crashtest <pipeline|stage>`.
type CrashTest struct {
	Name string `arg:"" complete:"pipeline" help:"A pipeline's name or file, or a stage's name."`

	Kills    int      `default:"20" placeholder:"N" help:"Number of sessions to kill (default 20)."`
	Seed     uint64   `default:"1" placeholder:"N" help:"Random seed for the kill times (default 1)."`
	Only     int      `placeholder:"N" help:"Run only trial number N."`
	Parallel int      `placeholder:"N" help:"Number of trials at a time (default half the processors, at most 4)."`
	Keep     bool     `help:"Keep all copies of the project, even without differences."`
	Mock     string   `type:"path" placeholder:"FILE" help:"Replies of the mock, as JSON (default MOCK_CONFIG, else .claude/mock.json if it exists)."`
	NoHooks  bool     `help:"Skip all hook actions except checks; webhooks and notify are always skipped."`
	With     []string `sep:"none" placeholder:"DIR" help:"Also copy .git, node_modules or .venv; repeatable."`
	LeaveOut []string `sep:"none" placeholder:"NAME" help:"Do not copy this file, or this directory if NAME ends with /; repeatable."`
	Ignore   []string `sep:"none" placeholder:"NAME" help:"Do not compare this file of the project; repeatable."`

	Runs run.Runs `placeholder:"N" help:"Number of runs of the whole pipeline (default 1)."`
	Max  int      `placeholder:"N" help:"Maximum iterations of a stage (default 25)."`
	run.SessionFlags
	run.EntryFlags
}

// Help returns the text below the usage.
func (*CrashTest) Help() string {
	return `Each trial runs in a copy of the project, and the mock replaces every provider. Scripts, checks, queues and
wrapped commands really run in the copy: --sandbox workspace confines them to it.`
}

// trialSession is the name of the session in each copy.
const trialSession = "crashtest"

// Run implements [cli.Verb].
func (v *CrashTest) Run(ctx context.Context, a *cli.App) error {
	trials, err := v.newTrials(ctx, a)
	if err != nil {
		return err
	}
	say := func(line string) {
		if !a.Quiet {
			cli.WritePrintable(a.Stderr, line)
		}
	}
	trials.ObserveUndisturbed = func(r crashtest.Report) { say(baselineText(r)) }
	trials.Observe = func(t crashtest.Trial) { say(trialText(t, v.Kills)) }
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := cli.WatchSignals(nil, say, cancel) // no session in this process that could pause
	defer w.Close()
	report, err := trials.Run(ctx)
	var ended *crashtest.EndError
	switch {
	case errors.As(err, &ended):
		printUncomparable(a, ended)
		return nil
	case err != nil:
		return err
	}
	if !report.Equal() {
		a.Code = cli.ExitDiffers
	}
	return a.Print(report, func(to io.Writer) { cli.WritePrintable(to, reportText(v.Name, *report)) })
}

// newTrials returns the trials that the flags describe. It compiles the pipeline, so that a fault is one error and not an
// error of each trial.
func (v *CrashTest) newTrials(ctx context.Context, a *cli.App) (*crashtest.Trials, error) {
	if err := v.checkNumbers(); err != nil {
		return nil, err
	}
	o, err := v.Options(a)
	if err == nil {
		err = v.Resolve(ctx, a, &o)
	}
	if err != nil {
		return nil, err
	}
	t := &crashtest.Trials{
		Session: trialSession, With: v.With, LeaveOut: v.LeaveOut, Ignore: v.Ignore, NoHooks: v.NoHooks,
		Kills: v.Kills, Seed: v.Seed, Only: v.Only, Parallel: v.Parallel, Keep: v.Keep,
	}
	t.Parallel = cmp.Or(t.Parallel, min(max(runtime.NumCPU()/2, 1), 4))
	err = a.WithEngine(ctx, func(e *engine.Engine) error {
		t.Project = e.WorkDir()
		return v.compile(ctx, e, &o)
	})
	if err != nil {
		return nil, err
	}
	childArgs, err := run.ChildArgs(a.GlobalFlags, o)
	if err != nil {
		return nil, err
	}
	t.Start = []string{run.SessionVerb}
	t.Command, err = v.command(a, t.Project, childArgs)
	return t, err
}

// checkNumbers returns an error for a number flag that is out of range.
func (v *CrashTest) checkNumbers() error {
	var wrong string
	switch {
	case v.Kills < 1:
		wrong = fmt.Sprintf("--kills is a number from 1, not %d", v.Kills)
	case v.Only < 0 || v.Only > v.Kills:
		wrong = fmt.Sprintf("--only is the number of one of the %d trials, not %d", v.Kills, v.Only)
	case v.Parallel < 0:
		wrong = fmt.Sprintf("--parallel is a number from 1, not %d", v.Parallel)
	case v.Max < 0:
		wrong = fmt.Sprintf("--max is a number from 1, not %d", v.Max)
	default:
		return nil
	}
	return cli.UsageError(wrong, "`%s help crashtest` shows examples", cli.Program)
}

// compile completes the options: v.Name is a pipeline or a stage, and must compile.
func (v *CrashTest) compile(ctx context.Context, e *engine.Engine, o *engine.RunOptions) error {
	o.Session, o.Pipeline, o.Runs = trialSession, v.Name, int(v.Runs)
	_, err := e.Compile(ctx, *o)
	var missing *engine.NotFoundError
	if !errors.As(err, &missing) || missing.Name != v.Name {
		return err
	}
	o.Pipeline, o.Runs, o.Stage, o.Max = "", 0, v.Name, v.Max
	if _, errStage := e.Compile(ctx, *o); !errors.As(errStage, &missing) || missing.Name != v.Name {
		return errStage
	}
	return err
}

// command returns a function that creates commands of this program with the global flags of this process and the mock's
// replies. [run.SessionVerb] gets the session on its standard input.
func (v *CrashTest) command(a *cli.App, project string, childArgs []byte) (func(context.Context, ...string) *exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := os.Environ()
	switch {
	case v.Mock != "":
		if _, err := os.Stat(v.Mock); err != nil {
			return nil, cli.UsageError("--mock: "+err.Error(), "name a file of mock replies; docs/crash-testing.md has an example")
		}
		env = append(env, "MOCK_CONFIG="+v.Mock)
	case a.Getenv("MOCK_CONFIG") == "":
		if _, err := os.Stat(filepath.Join(project, mockFile)); err == nil {
			env = append(env, "MOCK_CONFIG="+mockFile)
		}
	}
	settings := a.Arguments()
	return func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, slices.Concat(args[:1], settings, args[1:])...)
		cmd.Env = slices.Clip(env)
		if args[0] == run.SessionVerb {
			cmd.Stdin = bytes.NewReader(childArgs)
		}
		return cmd
	}, nil
}

// mockFile is the default file of the mock's replies, relative to the project.
const mockFile = ".claude/mock.json"

// printUncomparable prints that the undisturbed run did not complete, and sets its exit code.
func printUncomparable(a *cli.App, e *crashtest.EndError) {
	a.Code = cli.Exit(e.Code)
	if e.Code <= 0 {
		a.Code = cli.ExitFailed
	}
	f := cli.Fault{
		ErrorType: "undisturbed_run", Message: e.Error(), Detail: strings.TrimRight(e.Output, "\n"), ExitCode: int(a.Code),
		Hint: "the replies of the mock are in the file that --mock or MOCK_CONFIG names, or in " + mockFile,
	}
	if e.Reply != "" {
		f.Hint += ", for instance\n" + e.Reply
	}
	a.PrintFault(f.WithoutSecrets())
}
