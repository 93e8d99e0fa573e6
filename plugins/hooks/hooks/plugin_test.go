package hooks

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRequest returns a request to run a command in a new directory.
func newRequest(t testing.TB, run, input string) sdk.ExecuteRequest {
	t.Helper()
	dir := t.TempDir()
	req := sdk.ExecuteRequest{
		Key: "attempt:1/v1/r1/-/-/i2#1", Session: "auth", Node: "build", Stage: "builder", Iteration: 2, Attempt: 3, Purpose: sdk.PurposeWork,
		WorkDir: t.TempDir(), Run: run, Environment: map[string]string{"AGENT_PIPELINES_STAGE_DIR": "/stages/builder"}, Grace: 100 * time.Millisecond,
		Paths: sdk.Paths{Result: filepath.Join(dir, "result.json"), Artifact: filepath.Join(dir, "artifact.yaml"), Attempt: dir},
	}
	if input != "" {
		req.Input = json.RawMessage(input)
	}
	return req
}

// The inputs arrive on stdin and the outputs on stdout, as one JSON object each (U027).
func TestExecute(t *testing.T) {
	for _, tt := range []struct{ name, run, input, want string }{
		{"the whole output", "cat", `{"a": [1, "b"]}`, `{"a": [1, "b"]}`},
		{"without inputs", "cat", "", `{}`},
		{"over several lines", `printf '{\n "a": 1\n}\n\n'`, "", "{\n \"a\": 1\n}"},
		{"the last line", `echo working; echo '{"a": 0}'; echo '{"a": 1}'; echo`, "", `{"a": 1}`},
		{"its variables", `echo "{\"a\": \"$AGENT_PIPELINES_SESSION $AGENT_PIPELINES_NODE $AGENT_PIPELINES_STAGE $AGENT_PIPELINES_ITERATION $AGENT_PIPELINES_ATTEMPT $AGENT_PIPELINES_ATTEMPT_KEY $AGENT_PIPELINES_STAGE_DIR $MINE\"}"`, "", `{"a": "auth build builder 2 3 attempt:1/v1/r1/-/-/i2#1 /stages/builder yes"}`},
		{"input that is not read", `echo '{}'`, `{"a": "` + strings.Repeat("x", 1<<20) + `"}`, `{}`},
		{"text on stderr", `echo noise >&2; echo '{}'`, "", `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &CommandProvider{func() []string {
				return []string{"PATH=" + os.Getenv("PATH"), "MINE=yes", "AGENT_PIPELINES_SESSION=another"}
			}}
			req := newRequest(t, tt.run, tt.input)
			result, err := w.Execute(t.Context(), req, &plugintest.Exchange{})
			if err != nil || result.Outcome != sdk.OutcomeSucceeded || result.Error != nil || result.ExitCode != 0 {
				t.Fatalf("%+v, %v", result, err)
			}
			text, err := os.ReadFile(req.Paths.Artifact)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(text)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
			text, err = os.ReadFile(req.Paths.Result)
			if err != nil || !json.Valid(text) {
				t.Errorf("result %q, %v", text, err)
			}
		})
	}
}

func TestCommandFails(t *testing.T) {
	for _, tt := range []struct {
		name, run string
		kind      failure.Kind
		retryable bool
		texts     []string
	}{
		{"an exit code", `echo '{}'; echo first >&2; echo boom >&2; exit 3`, failure.ProviderFailed, false, []string{"the command exited with code 3", "first\nboom"}},
		{"a temporary failure", `echo busy >&2; exit 75`, failure.ProviderFailed, true, []string{"code 75", "busy"}},
		{"a signal", `kill -9 $$`, failure.ProviderFailed, false, []string{"ended by signal 9"}},
		{"a missing program", `nosuchprogram`, failure.ProviderFailed, false, []string{"exit code 127", "nosuchprogram"}},
		{"no output", `echo quiet >&2`, failure.ResultInvalid, false, []string{"printed no outputs", "quiet"}},
		{"no object", `echo '{"a": 1}'; echo done`, failure.ResultInvalid, false, []string{"is not a JSON object: done"}},
		{"a list", `echo '[1]'`, failure.ResultInvalid, false, []string{"is not a JSON object: [1]"}},
		{"broken", `echo '{"a": '`, failure.ResultInvalid, false, []string{"is not a JSON object"}},
		{"too much", `head -c 67108865 /dev/zero | tr '\0' x`, failure.ResultInvalid, false, []string{"printed more than 67108864 bytes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := newRequest(t, tt.run, "")
			result, err := NewCommandProvider().Execute(t.Context(), req, &plugintest.Exchange{})
			if err != nil || result.Outcome != sdk.OutcomeFailed || result.Error == nil {
				t.Fatalf("%+v, %v", result, err)
			}
			firingtest.CheckError(t, result.Error, tt.kind, tt.texts...)
			if result.Error.Retryable != tt.retryable {
				t.Errorf("retryable %t", result.Error.Retryable)
			}
			if _, err := os.Stat(req.Paths.Artifact); !os.IsNotExist(err) {
				t.Errorf("an artifact beside the failure: %v", err)
			}
		})
	}
}

// A command that is stopped leaves no artifact and does not succeed, whatever it has printed.
func TestCommandIsStopped(t *testing.T) {
	for name, limit := range map[string]time.Duration{"by its limit": 50 * time.Millisecond, "from outside": 0} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			x := &plugintest.Exchange{}
			if limit == 0 {
				x.OnOutput = func(sdk.OutputChunk) { cancel() }
			}
			req := newRequest(t, `echo '{}'; sleep 600`, "")
			req.Timeout = limit
			result, err := NewCommandProvider().Execute(ctx, req, x)
			if err == nil || result.Outcome != sdk.OutcomeInfrastructure {
				t.Errorf("%+v, %v", result, err)
			}
			if _, err := os.Stat(req.Paths.Artifact); !os.IsNotExist(err) {
				t.Errorf("an artifact beside the failure: %v", err)
			}
		})
	}
}

func TestExecuteRefused(t *testing.T) {
	_, err := NewCommandProvider().Execute(t.Context(), newRequest(t, "", ""), &plugintest.Exchange{})
	if failure.KindOf(err) != failure.ConfigInvalid || failure.From(err).Hint == "" {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewCommandProvider().Execute(ended, newRequest(t, "true", ""), &plugintest.Exchange{}); err == nil {
		t.Error("a command begins although its context has ended")
	}
}

func TestConforms(t *testing.T) {
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:    func(testing.TB) sdk.Provider { return NewCommandProvider() },
		Normal: plugintest.Case{Run: "cat", Input: json.RawMessage(`{"a": 1}`)},
		Slow:   plugintest.Case{Run: "echo begun; sleep 600 & wait"},
		Large:  plugintest.Case{Run: `printf '{"a": "'; head -c 5000000 /dev/zero | tr '\0' x; printf '"}'`},
	})
}
