package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// DIALECT B8: codes of errors before the work began.
func TestExitOfError(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want cli.Exit
	}{
		{"bad arguments", cli.UsageError("no", "do"), cli.ExitUsage},
		{"session name", fmt.Errorf("x: %w", engine.ErrSessionName), cli.ExitUsage},
		{"options", fmt.Errorf("x: %w", engine.ErrOptions), cli.ExitUsage},
		{"faults of a file", fmt.Errorf("x: %w", engine.Diagnostics{{File: "a.yaml"}}), cli.ExitConfig},
		{"no such pipeline", &engine.NotFoundError{What: "pipeline"}, cli.ExitConfig},
		{"no such word", &cli.UnknownWord{NotFoundError: &engine.NotFoundError{What: "stage"}}, cli.ExitConfig},
		{"no provider", failure.New(failure.ProviderMissing, "x"), cli.ExitPreflight},
		{"bad plugin", failure.New(failure.PluginInvalid, "x"), cli.ExitPreflight},
		{"untrusted plugin", failure.New(failure.PluginUntrusted, "x"), cli.ExitPreflight},
		{"bad config", failure.New(failure.ConfigInvalid, "x"), cli.ExitPreflight},
		{"no sandbox", failure.New(failure.SandboxUnavailable, "x"), cli.ExitPreflight},
		{"nothing to resume", fmt.Errorf("x: %w", engine.ErrNothingToResume), cli.ExitNoResume},
		{"ended", fmt.Errorf("x: %w", engine.ErrTerminal), cli.ExitTerminal},
		{"locked", fmt.Errorf("x: %w", engine.ErrLocked), cli.ExitLocked},
		{"locked, as a failure", failure.New(failure.LockContention, "x: %w", engine.ErrLocked), cli.ExitLocked},
		{"resumable", engine.ErrResumable, cli.ExitFailed},
		{"no session", engine.ErrNoSession, cli.ExitFailed},
		{"time limit", failure.New(failure.IterationTimeout, "x"), cli.ExitTimeout},
		{"cycles", failure.New(failure.CycleLimit, "x"), cli.ExitCycles},
		{"forced stop", &cli.Interrupted{Signal: syscall.SIGINT}, cli.ExitInterrupt},
		{"forced end", &cli.Interrupted{Signal: syscall.SIGTERM}, cli.ExitTerminate},
		{"forced hangup", &cli.Interrupted{Signal: syscall.SIGHUP}, cli.ExitHangup},
		{"anything else", errors.New("x"), cli.ExitFailed},
		{"cancelled by somebody else", context.Canceled, cli.ExitFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cli.ExitOf(tt.err); got != tt.want {
				t.Errorf("exitOf(%v) = %d, want %d", tt.err, got, tt.want)
			}
		})
	}
}

// DIALECT B8, K8, D08: codes of runs that ended or wait.
func TestExitOfResult(t *testing.T) {
	failed := func(k failure.Kind) *event.FailureData { return &event.FailureData{ErrorType: string(k)} }
	for _, tt := range []struct {
		name   string
		result engine.Result
		signal os.Signal
		want   cli.Exit
	}{
		{"completed", engine.Result{Status: state.Completed, Mode: "pipeline", Success: true}, nil, cli.ExitDone},
		{"loop done", engine.Result{Status: state.Completed, Mode: "loop", Success: true}, nil, cli.ExitDone},
		{"judged loop at its maximum", engine.Result{Status: state.Completed, Mode: "loop", Reason: "max_iterations"}, nil, cli.ExitFailed},
		{"pipeline at a maximum", engine.Result{Status: state.Completed, Mode: "pipeline"}, nil, cli.ExitDone},
		{"paused by a user", engine.Result{Status: state.Paused, PauseKind: state.PauseUser}, nil, cli.ExitDone},
		{"paused by a hook", engine.Result{Status: state.Paused, PauseKind: state.PauseHook}, nil, cli.ExitDone},
		{"paused for approval", engine.Result{Status: state.Paused, PauseKind: state.PauseApproval}, nil, cli.ExitDone},
		{"escalated", engine.Result{Status: state.Paused, PauseKind: state.PauseEscalation}, nil, cli.ExitEscalation},
		{"the kernel could not go on", engine.Result{Status: state.Paused, PauseKind: state.PauseError}, nil, cli.ExitFailed},
		{"SIGINT", engine.Result{Status: state.Paused, PauseKind: state.PauseSignal}, syscall.SIGINT, cli.ExitInterrupt},
		{"SIGTERM", engine.Result{Status: state.Paused, PauseKind: state.PauseSignal}, syscall.SIGTERM, cli.ExitTerminate},
		{"a signal that came too late", engine.Result{Status: state.Completed, Mode: "loop", Success: true}, syscall.SIGINT, cli.ExitDone},
		{"aborted", engine.Result{Status: state.Aborted}, nil, cli.ExitAborted},
		{"failed", engine.Result{Status: state.Failed, Failure: failed(failure.ProviderFailed)}, nil, cli.ExitFailed},
		{"provider missing in the middle", engine.Result{Status: state.Failed, Failure: failed(failure.ProviderMissing)}, nil, cli.ExitFailed},
		{"time limit", engine.Result{Status: state.Failed, Failure: failed(failure.IterationTimeout)}, nil, cli.ExitTimeout},
		{"a question under non_interactive: fail", engine.Result{Status: state.Failed, Failure: failed(failure.ApprovalRequired)}, nil, cli.ExitQuestion},
		{"not without the call", engine.Result{Status: state.Failed, Failure: failed(failure.ApprovalDenied)}, nil, cli.ExitDenied},
		{"cycle limit", engine.Result{Status: state.Failed, Failure: failed(failure.CycleLimit)}, nil, cli.ExitCycles},
		{"step failed", engine.Result{Status: state.Failed, Failure: failed(failure.StepFailed)}, nil, cli.ExitStep},
		{"out of the room", engine.Result{Status: state.Failed, Failure: failed(failure.SandboxViolation)}, nil, cli.ExitSandbox},
		{"turns used up", engine.Result{Status: state.Failed, Failure: failed(failure.TurnLimit)}, nil, cli.ExitTurns},
		{"a provider in a step", engine.Result{Status: state.Failed, Failure: &event.FailureData{ErrorType: "provider_crashed", Step: "s1"}}, nil, cli.ExitStep},
		{"a step too late", engine.Result{Status: state.Failed, Failure: &event.FailureData{ErrorType: "iteration_timeout", Step: "s1"}}, nil, cli.ExitStepTime},
		{"a provider in a step too late", engine.Result{Status: state.Failed, Failure: &event.FailureData{ErrorType: "provider_timeout", Step: "s1"}}, nil, cli.ExitStepTime},
		{"a denied call in a step", engine.Result{Status: state.Failed, Failure: &event.FailureData{ErrorType: "approval_denied", Step: "s1"}}, nil, cli.ExitDenied},
		{"failed without a word", engine.Result{Status: state.Failed}, nil, cli.ExitFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cli.ExitOfResult(&tt.result, tt.signal); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// Every code that can be returned is explained, once and in order.
func TestExitTable(t *testing.T) {
	var got []cli.Exit
	for _, row := range cli.Exits {
		got = append(got, row.Code)
	}
	want := []cli.Exit{0, 1, 2, 3, 12, 13, 14, 15, 16, 20, 21, 22, 23, 30, 31, 32, 33, 34, 40, 129, 130, 143}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// U301: what, where, and what to do; never more than that.
func TestPrintError(t *testing.T) {
	locked := failure.New(failure.LockContention, "session 'auth' is already running (PID 412): %w", engine.ErrLocked).
		WithHint("wait for it, or pass --force").WithDetail("first\nsecond\n")
	for _, tt := range []struct {
		name       string
		err        error
		want, json string
	}{
		{
			"failure", fmt.Errorf("%w", locked),
			"Error: session 'auth' is already running (PID 412): session is locked\n  wait for it, or pass --force\n  first\n  second\n" +
				"  code: AP-LOCK-001 (lock_contention); more: agent-pipelines explain lock_contention\n",
			`{"schema":"agent-pipelines.error/v1","error":{"code":"AP-LOCK-001","error_type":"lock_contention",` +
				`"message":"session 'auth' is already running (PID 412): session is locked","hint":"wait for it, or pass --force",` +
				`"detail":"first\nsecond\n","exit_code":16},"next_commands":["agent-pipelines explain lock_contention"]}` + "\n",
		},
		{
			"bad arguments", cli.UsageError("no <b>", "see `%s help x` or `%s help NAME`", cli.Program, cli.Program),
			"Error: no <b>\n  see `agent-pipelines help x` or `agent-pipelines help NAME`\n",
			`{"schema":"agent-pipelines.error/v1","error":{"error_type":"bad_arguments","message":"no <b>",` +
				"\"hint\":\"see `agent-pipelines help x` or `agent-pipelines help NAME`\"," + `"exit_code":2},"next_commands":["agent-pipelines help x"]}` + "\n",
		},
		{
			"diagnostics",
			engine.Diagnostics{{File: "p.yaml", Line: 3, Column: 5, Code: "AP-YAML-102", Message: "no name"}},
			"p.yaml:3:5: error[AP-YAML-102]: no name\nError: 1 error\n",
			`{"schema":"agent-pipelines.error/v1","error":{"error_type":"compile_error","message":"1 error","diagnostics":[` +
				`{"file":"p.yaml","line":3,"column":5,"code":"AP-YAML-102","message":"no name","severity":"error"}],"exit_code":3},"next_commands":[]}` + "\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, err bytes.Buffer
			a := &cli.App{Console: cli.Console{Stdout: &out, Stderr: &err}}
			a.PrintError(tt.err)
			a.JSON = true
			a.PrintError(tt.err)
			if diff := cmp.Diff(tt.want, err.String()); diff != "" {
				t.Errorf("standard error: %s", diff)
			}
			if diff := cmp.Diff(tt.json, out.String()); diff != "" {
				t.Errorf("standard output: %s", diff)
			}
		})
	}
}
