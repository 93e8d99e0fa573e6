package author

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
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
	run.InputFlags
	run.FlowFlags
	run.EntryFlags
	run.ModeFlag
	run.SandboxFlags
}

// Help returns the text below the usage.
func (*CrashTest) Help() string {
	return `Each trial runs in a copy of the project, and the mock replaces every provider. Scripts, checks, queues and
wrapped commands really run in the copy: --sandbox workspace confines them to it.

Examples:
  agent-pipelines crashtest ship
  agent-pipelines crashtest ship --kills 200 --context "add a --json flag" --mock mock.json
  agent-pipelines crashtest ship --seed 1 --kills 20 --only 7 --keep`
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
	if a.JSON {
		a.Document(report)
		return nil
	}
	cli.WritePrintable(a.Stdout, reportText(v.Name, *report, v.repeatCommand(a)))
	return nil
}

// newTrials returns the trials that the flags describe. It compiles the pipeline, so that a fault is one error and not an
// error of each trial.
func (v *CrashTest) newTrials(ctx context.Context, a *cli.App) (*crashtest.Trials, error) {
	if err := v.checkNumbers(); err != nil {
		return nil, err
	}
	flags := run.Flags{InputFlags: v.InputFlags, FlowFlags: v.FlowFlags, ModeFlag: v.ModeFlag, SandboxFlags: v.SandboxFlags}
	if err := flags.Check(); err != nil {
		return nil, err
	}
	o, err := flags.Options(a)
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
	if t.Parallel == 0 {
		t.Parallel = min(max(runtime.NumCPU()/2, 1), 4)
	}
	err = a.WithEngine(ctx, func(e *engine.Engine) error {
		t.Project = e.WorkDir()
		verb, err := v.runVerb(ctx, e, o)
		t.Start = slices.Concat([]string{verb, "--verb", "--foreground"}, flags.Arguments(o), []string{"--"}, v.arguments(verb))
		return err
	})
	if err != nil {
		return nil, err
	}
	t.Command, err = v.command(a, t.Project)
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

// runVerb returns the verb that runs v.Name: pipeline or loop. The name must compile.
func (v *CrashTest) runVerb(ctx context.Context, e *engine.Engine, o engine.RunOptions) (string, error) {
	o.Session = trialSession
	asPipeline, asStage := o, o
	asPipeline.Pipeline, asStage.Stage = v.Name, v.Name
	_, err := e.Compile(ctx, asPipeline)
	var missing *engine.NotFoundError
	if !errors.As(err, &missing) || missing.Name != v.Name {
		return modePipeline, err
	}
	if _, errStage := e.Compile(ctx, asStage); !errors.As(errStage, &missing) || missing.Name != v.Name {
		return cli.ModeLoop, errStage
	}
	return "", err
}

// arguments returns the arguments of the verb.
func (v *CrashTest) arguments(verb string) []string {
	if verb != cli.ModeLoop {
		return append([]string{v.Name, trialSession}, v.Runs.Arguments()...)
	}
	if v.Max > 0 {
		return []string{v.Name, trialSession, strconv.Itoa(v.Max)}
	}
	return []string{v.Name, trialSession}
}

// command returns a function that starts this program with the global flags of this process and the mock's replies.
func (v *CrashTest) command(a *cli.App, project string) (func(context.Context, ...string) *exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := os.Environ()
	switch {
	case v.Mock != "":
		if _, err := os.Stat(v.Mock); err != nil {
			return nil, cli.UsageError("--mock: "+err.Error(), "name a file of mock replies, as docs/crash-testing.md shows one")
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
		return cmd
	}, nil
}

// mockFile is the default file of the mock's replies, relative to the project.
const mockFile = ".claude/mock.json"

// repeatCommand returns the command that repeats a trial, without the trial's number at its end.
func (v *CrashTest) repeatCommand(a *cli.App) string {
	words := []string{cli.Program, "crashtest", v.Name, fmt.Sprintf("--kills=%d", v.Kills), fmt.Sprintf("--seed=%d", v.Seed)}
	flags := run.Flags{InputFlags: v.InputFlags, FlowFlags: v.FlowFlags, ModeFlag: v.ModeFlag, SandboxFlags: v.SandboxFlags}
	if o, err := flags.Options(a); err == nil && v.EntryFlags.Apply(&o) == nil {
		words = append(words, flags.Arguments(o)...)
	}
	for _, flag := range []struct {
		name   string
		values []string
	}{{"--mock", []string{v.Mock}}, {"--with", v.With}, {"--leave-out", v.LeaveOut}, {"--ignore", v.Ignore}, {"--runs", v.Runs.Arguments()}} {
		for _, value := range flag.values {
			if value != "" {
				words = append(words, flag.name+"="+value)
			}
		}
	}
	if v.Max > 0 {
		words = append(words, fmt.Sprintf("--max=%d", v.Max))
	}
	if v.NoHooks {
		words = append(words, "--no-hooks")
	}
	for i, word := range words {
		if strings.ContainsAny(word, " \t\n'\"$`*?&|;<>()#!~\\") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ") + " --only="
}

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
	f = f.WithoutSecrets(redact.New(os.Environ()))
	a.PrintFault(f)
}
