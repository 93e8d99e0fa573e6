package codex

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestCommandIsCalledAsDocumented(t *testing.T) {
	dir := t.TempDir()
	req := clitest.Request(t, map[string]string{"FAKE_DIR": dir})
	req.Prompt = "do\nit"
	req.Model = "gpt-5.1-codex:low"
	req.Config = json.RawMessage(`{"args": ["--add-dir", "x"]}`)
	if _, err := fake(t).Execute(t.Context(), req, &plugintest.Exchange{}); err != nil {
		t.Fatal(err)
	}
	call := clitest.ReadCall(t, dir)
	want := []string{
		"exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check",
		"--model", "gpt-5.1-codex", "-c", `model_reasoning_effort="low"`,
		"--add-dir", "x", "-",
	}
	if diff := cmp.Diff(want, call.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	wantPrompt := "do\nit\n\n---\n" +
		"IMPORTANT: After completing this task and writing any required output files, EXIT IMMEDIATELY.\n" +
		"Do NOT wait for follow-up. Do NOT ask for confirmation. The pipeline handles iteration control."
	if diff := cmp.Diff(wantPrompt, call.Prompt); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
	if strings.Contains(strings.Join(call.Env, "\n"), "PLUGIN_") {
		t.Error("the environment has variables of the handshake")
	}
	if call.WorkDir != req.WorkDir {
		t.Errorf("working directory = %q, want %q", call.WorkDir, req.WorkDir)
	}
}

func TestPlainTextCommands(t *testing.T) {
	clitest.PlainText(t, func(tb testing.TB) sdk.Provider { return fake(tb) }, []clitest.PlainCase{
		{Name: "answers", Env: map[string]string{"FAKE_STDOUT": "two\nlines\n"}, Output: "two\nlines\n", Outcome: sdk.OutcomeSucceeded},
		{Name: "empty output, may have written files", Outcome: sdk.OutcomeEmpty, Kind: failure.ProviderFailed},
		{
			Name: "fails", Env: map[string]string{"FAKE_STDOUT": "part", "FAKE_EXIT": "7"},
			Output: "part", Outcome: sdk.OutcomeInfrastructure, Kind: failure.ProviderCrashed,
		},
		{Name: "is killed", Env: map[string]string{"FAKE_SIGNAL": "KILL"}, Outcome: sdk.OutcomeInfrastructure, Kind: failure.ProviderCrashed},
		{
			Name: "does not know a flag", Env: map[string]string{"FAKE_STDERR": "error: unexpected argument '--frob' found", "FAKE_EXIT": "2"},
			Outcome: sdk.OutcomeFailed, Kind: failure.ConfigInvalid, Hint: installCommand,
		},
		{
			Name: "cannot read its settings", Env: map[string]string{"FAKE_STDERR": "Error loading config.toml: invalid type", "FAKE_EXIT": "1"},
			Outcome: sdk.OutcomeFailed, Kind: failure.ConfigInvalid, Hint: "config.toml",
		},
		{
			Name: "logs an error of its work", Env: map[string]string{"FAKE_STDERR": "curl: connection refused", "FAKE_EXIT": "1"},
			Outcome: sdk.OutcomeInfrastructure, Kind: failure.ProviderCrashed,
		},
	})
}

func TestQuestionsGetTheAnswerAlone(t *testing.T) {
	clitest.Question(t, fake(t), "testdata/tools.jsonl", "Done: both files are written.")
}

func TestTimeLimit(t *testing.T) {
	req := clitest.Request(t, map[string]string{"FAKE_HANG": "1", "CODEX_TIMEOUT": "0.3"})
	result, err := fake(t).Execute(t.Context(), req, &plugintest.Exchange{})
	if failure.KindOf(err) != failure.ProviderTimeout || result.ExitCode != 124 {
		t.Errorf("error %v, exit code %d; want provider_timeout, 124", err, result.ExitCode)
	}
	if !strings.Contains(err.Error(), "exit code 124") || !strings.Contains(failure.From(err).Hint, "CODEX_TIMEOUT") {
		t.Errorf("error %+v lacks the cause or the remedy", failure.From(err))
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) { cancel() }}
	result, err := fake(t).Execute(ctx, clitest.Request(t, map[string]string{"FAKE_STDOUT": "up\n", "FAKE_HANG": "1"}), x)
	if failure.KindOf(err) != failure.SignalInterrupt || result.ExitCode != -1 || result.Outcome != sdk.OutcomeInfrastructure {
		t.Errorf("error %v, result %+v", err, result)
	}
	if _, err := fake(t).Execute(ctx, clitest.Request(t, nil), x); err == nil {
		t.Error("an attempt begins although its context has ended")
	}
}

func TestExitCode(t *testing.T) {
	tests := []struct {
		name string
		end  cliagent.End
		want int
	}{
		{"ended at the limit", cliagent.End{StopReason: cliagent.StopTimeout, ExitCode: -1}, 124},
		{"killed at the limit", cliagent.End{StopReason: cliagent.StopTimeout, ExitCode: -1, Killed: true}, 137},
		{"cancelled", cliagent.End{StopReason: cliagent.StopCanceled, ExitCode: -1, Killed: true}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCode(tt.end); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
		})
	}
}

func TestExecuteDoesNotStart(t *testing.T) {
	tests := []struct {
		name   string
		model  string
		config string
		env    map[string]string
		want   failure.Kind
		hint   string
	}{
		{"missing command", "", ``, map[string]string{"PATH": "/nowhere"}, failure.ProviderMissing, installCommand},
		{"unknown key", "", `{"comand": "codex"}`, nil, failure.ConfigInvalid, ""},
		{"unknown model", "gpt-5.1-codx", ``, nil, failure.ConfigInvalid, `did you mean gpt-5.1-codex? `},
		{"how to allow a model", "mine", ``, nil, failure.ConfigInvalid, `config.yaml: providers: {codex: {config: {models: ["mine"]}}}`},
		{"unknown effort", "gpt-5.5:bogus", ``, nil, failure.ConfigInvalid, "xhigh"},
		{"bad limit", "", ``, map[string]string{"CODEX_TIMEOUT": "soon"}, failure.ConfigInvalid, "900"},
		{"bad interval", "", ``, map[string]string{"CODEX_POLL_INTERVAL": "-1"}, failure.ConfigInvalid, "15"},
		{"bad grace period", "", ``, map[string]string{"CODEX_GRACE_PERIOD": "x"}, failure.ConfigInvalid, "5"},
		{"bad switch", "", ``, map[string]string{"CODEX_WATCHDOG": "flase"}, failure.ConfigInvalid, "true or false"},
		{"price without output", "", `{"prices": {"m": {"input": 1}}}`, nil, failure.ConfigInvalid, "cached_input"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := clitest.Request(t, tt.env)
			req.Model, req.Config = tt.model, json.RawMessage(tt.config)
			_, err := fake(t).Execute(t.Context(), req, &plugintest.Exchange{})
			clitest.WantFailure(t, failure.From(err), tt.want, tt.hint)
		})
	}
}
