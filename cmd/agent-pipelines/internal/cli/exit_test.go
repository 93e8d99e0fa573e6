package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// DIALECT B8: exit codes of errors before the work begins.
func TestExitOfError(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want Exit
	}{
		{"bad arguments", UsageError("no", "do"), ExitUsage},
		{"session name", fmt.Errorf("x: %w", engine.ErrSessionName), ExitUsage},
		{"options", fmt.Errorf("x: %w", engine.ErrOptions), ExitUsage},
		{"faults of a file", fmt.Errorf("x: %w", engine.Diagnostics{{File: "a.yaml"}}), ExitConfig},
		{"no such pipeline", &engine.NotFoundError{Kind: "pipeline"}, ExitConfig},
		{"no such word", &UnknownWord{NotFoundError: &engine.NotFoundError{Kind: "stage"}}, ExitConfig},
		{"no provider", failure.New(failure.ProviderMissing, "x"), ExitPreflight},
		{"bad plugin", failure.New(failure.PluginInvalid, "x"), ExitPreflight},
		{"untrusted plugin", failure.New(failure.PluginUntrusted, "x"), ExitPreflight},
		{"bad config", failure.New(failure.ConfigInvalid, "x"), ExitPreflight},
		{"no sandbox", failure.New(failure.SandboxUnavailable, "x"), ExitPreflight},
		{"nothing to resume", fmt.Errorf("x: %w", engine.ErrNothingToResume), ExitNoResume},
		{"ended", fmt.Errorf("x: %w", engine.ErrTerminal), ExitTerminal},
		{"locked", fmt.Errorf("x: %w", engine.ErrLocked), ExitLocked},
		{"locked, as a failure", failure.New(failure.LockContention, "x: %w", engine.ErrLocked), ExitLocked},
		{"resumable", engine.ErrResumable, ExitFailed},
		{"no session", engine.ErrNoSession, ExitFailed},
		{"time limit", failure.New(failure.IterationTimeout, "x"), ExitTimeout},
		{"cycles", failure.New(failure.CycleLimit, "x"), ExitCycles},
		{"forced stop", &Interrupted{Signal: syscall.SIGINT}, ExitInterrupt},
		{"forced end", &Interrupted{Signal: syscall.SIGTERM}, ExitTerminate},
		{"forced hangup", &Interrupted{Signal: syscall.SIGHUP}, ExitHangup},
		{"anything else", errors.New("x"), ExitFailed},
		{"cancelled without a signal", context.Canceled, ExitFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.want, ExitFor(tt.err))
		})
	}
}

// DIALECT B8, K8, D08: exit codes of runs that ended or paused.
func TestExitOfResult(t *testing.T) {
	failed := func(k failure.Kind) *event.FailureData { return &event.FailureData{ErrorType: string(k)} }
	for _, tt := range []struct {
		name   string
		result engine.Result
		signal os.Signal
		want   Exit
	}{
		{"completed", engine.Result{Status: state.Completed, Mode: "pipeline", Success: true}, nil, ExitDone},
		{"loop done", engine.Result{Status: state.Completed, Mode: "loop", Success: true}, nil, ExitDone},
		{"judged loop at its maximum", engine.Result{Status: state.Completed, Mode: "loop", Reason: "max_iterations"}, nil, ExitFailed},
		{"pipeline at a maximum", engine.Result{Status: state.Completed, Mode: "pipeline"}, nil, ExitDone},
		{"paused by a user", engine.Result{Status: state.Paused, PauseKind: state.PauseUser}, nil, ExitDone},
		{"paused by a hook", engine.Result{Status: state.Paused, PauseKind: state.PauseHook}, nil, ExitDone},
		{"paused for approval", engine.Result{Status: state.Paused, PauseKind: state.PauseApproval}, nil, ExitDone},
		{"escalated", engine.Result{Status: state.Paused, PauseKind: state.PauseEscalation}, nil, ExitEscalation},
		{"system failure", engine.Result{Status: state.Paused, PauseKind: state.PauseError}, nil, ExitFailed},
		{"SIGINT", engine.Result{Status: state.Paused, PauseKind: state.PauseSignal}, syscall.SIGINT, ExitInterrupt},
		{"SIGTERM", engine.Result{Status: state.Paused, PauseKind: state.PauseSignal}, syscall.SIGTERM, ExitTerminate},
		{"a signal after the end", engine.Result{Status: state.Completed, Mode: "loop", Success: true}, syscall.SIGINT, ExitDone},
		{"aborted", engine.Result{Status: state.Aborted}, nil, ExitAborted},
		{"failed", engine.Result{Status: state.Failed, Failure: failed(failure.ProviderFailed)}, nil, ExitFailed},
		{"provider missing in the middle", engine.Result{Status: state.Failed, Failure: failed(failure.ProviderMissing)}, nil, ExitFailed},
		{"time limit", engine.Result{Status: state.Failed, Failure: failed(failure.IterationTimeout)}, nil, ExitTimeout},
		{"a question under non_interactive: fail", engine.Result{Status: state.Failed, Failure: failed(failure.ApprovalRequired)}, nil, ExitQuestion},
		{"denied call", engine.Result{Status: state.Failed, Failure: failed(failure.ApprovalDenied)}, nil, ExitDenied},
		{"cycle limit", engine.Result{Status: state.Failed, Failure: failed(failure.CycleLimit)}, nil, ExitCycles},
		{"step failed", engine.Result{Status: state.Failed, Failure: failed(failure.StepFailed)}, nil, ExitStep},
		{"sandbox violation", engine.Result{Status: state.Failed, Failure: failed(failure.SandboxViolation)}, nil, ExitSandbox},
		{"turns used up", engine.Result{Status: state.Failed, Failure: failed(failure.TurnLimit)}, nil, ExitTurns},
		{"a provider in a step", engine.Result{Status: state.Failed, Failure: &event.FailureData{ErrorType: "provider_crashed", Step: "s1"}}, nil, ExitStep},
		{"a step too late", engine.Result{Status: state.Failed, Failure: &event.FailureData{ErrorType: "iteration_timeout", Step: "s1"}}, nil, ExitStepTime},
		{"a provider in a step too late", engine.Result{Status: state.Failed, Failure: &event.FailureData{ErrorType: "provider_timeout", Step: "s1"}}, nil, ExitStepTime},
		{"a denied call in a step", engine.Result{Status: state.Failed, Failure: &event.FailureData{ErrorType: "approval_denied", Step: "s1"}}, nil, ExitDenied},
		{"failed without a record", engine.Result{Status: state.Failed}, nil, ExitFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.want, ExitOfResult(&tt.result, tt.signal))
		})
	}
}

// U301: an error is printed with its message, hint, details and code, and nothing else.
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
			"bad arguments", UsageError("no <b>", "see `%s help x` or `%s help NAME`", Program, Program),
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
			a := &App{Console: Console{Stdout: &out, Stderr: &err}}
			a.PrintError(tt.err)
			a.JSON = true
			a.PrintError(tt.err)
			compare(t, tt.want, err.String())
			compare(t, tt.json, out.String())
		})
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
