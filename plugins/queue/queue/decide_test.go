package queue

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The queue decides (REQUIREMENTS U087, K18).
func TestDecide(t *testing.T) {
	output := filepath.Join(t.TempDir(), "output.md")
	if err := os.WriteFile(output, []byte("done <promise>COMPLETE</promise>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	promise := []sdk.FileRef{{Path: "/nowhere"}, {Path: output}}
	tests := []struct {
		name   string
		env    []string
		config string
		req    sdk.DecideRequest
		action sdk.DecisionAction
		reason string
	}{
		{"beads are left", []string{"BD_READY=a\n\nb\n"}, ``, sdk.DecideRequest{Iteration: 1}, sdk.DecisionContinue, "2 left"},
		{"no beads are left", []string{"BD_READY=\n \n"}, ``, sdk.DecideRequest{Iteration: 1}, sdk.DecisionStop, reasonEmpty},
		{"an empty queue before the first iteration", nil, ``, sdk.DecideRequest{}, sdk.DecisionStop, reasonEmpty},
		{"the agent's error", []string{"BD_READY=a\n"}, ``, sdk.DecideRequest{Iteration: 1, Hint: "error"}, sdk.DecisionError, reasonError},
		{"the agent's promise", []string{"BD_READY=a\n"}, ``, sdk.DecideRequest{Iteration: 2, Outputs: promise}, sdk.DecisionStop, reasonPromise},
		{"an older promise before a new run", []string{"BD_READY=a\n"}, ``, sdk.DecideRequest{Outputs: promise}, sdk.DecisionContinue, "1 left"},
		{"a stop hint of the agent is not enough", []string{"BD_READY=a\n"}, ``, sdk.DecideRequest{Iteration: 1, Hint: "stop"}, sdk.DecisionContinue, "1 left"},
		{"a line of the shell", nil, `{"command": "printf 'x\\ny\\n'"}`, sdk.DecideRequest{Iteration: 1}, sdk.DecisionContinue, "2 left"},
		{"a program and its arguments", nil, `{"command": ["printf", "$HOME"]}`, sdk.DecideRequest{Iteration: 1}, sdk.DecisionContinue, "1 left"},
		{"a search without a hit", nil, `{"command": "grep -l x /dev/null"}`, sdk.DecideRequest{Iteration: 1}, sdk.DecisionStop, reasonDone},
		{
			"the variables of a command", nil, `{"command": "test $AGENT_PIPELINES_SESSION.$AGENT_PIPELINES_NODE.$AGENT_PIPELINES_ITERATION = s.n.3 && echo x"}`,
			sdk.DecideRequest{Iteration: 3, Session: "s", Node: "n"},
			sdk.DecisionContinue, "1 left",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newTestStrategy(t, tt.env...)
			tt.req.Config, tt.req.WorkDir = json.RawMessage(tt.config), t.TempDir()
			d, err := s.Decide(t.Context(), tt.req)
			if err != nil || d.Action != tt.action || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("decision %+v, error %v; want %s, %q", d, err, tt.action, tt.reason)
			}
		})
	}
}

func TestLabel(t *testing.T) {
	tests := []struct {
		name, env, config, want string
	}{
		{"default", "", ``, "pipeline/auth"},
		{"prefix of the environment", "BEADS_LABEL_PREFIX=loop/", ``, "loop/auth"},
		{"configured", "BEADS_LABEL_PREFIX=loop/", `{"label": "x-${SESSION}-y"}`, "x-auth-y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, log := newTestStrategy(t, tt.env)
			req := sdk.DecideRequest{Session: "auth", Iteration: 1, Config: json.RawMessage(tt.config), WorkDir: t.TempDir()}
			if _, err := s.Decide(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			if got, want := readFile(t, log), "bd ready --label="+tt.want+"\n"; got != want {
				t.Errorf("called %q, want %q", got, want)
			}
		})
	}
}

// A queue that cannot be read does not count as empty.
func TestDecideFails(t *testing.T) {
	tests := []struct {
		name    string
		env     []string
		config  string
		kind    failure.Kind
		message string
		hint    string
	}{
		{"bd fails", []string{"BD_EXIT=1"}, ``, failure.StrategyFailed, "exited with code 1", "by hand"},
		{"a command fails", nil, `{"command": "echo broken >&2; exit 1"}`, failure.StrategyFailed, "exited with code 1", "exit code 0"},
		{"a command is not found by the shell", nil, `{"command": "nosuchprogram"}`, failure.StrategyFailed, "127", "by hand"},
		{"a command takes too long", nil, `{"command": "exec sleep 600", "timeout": 0.2}`, failure.StrategyFailed, "time limit", "termination.timeout"},
		{"no bd", []string{"PATH=/nowhere"}, ``, failure.ConfigInvalid, `"bd"`, "install beads"},
		{"no such program", nil, `{"command": ["nosuchprogram"]}`, failure.ConfigInvalid, `"nosuchprogram"`, "absolute path"},
		{"no program", nil, `{"command": []}`, failure.ConfigInvalid, "has no program", ""},
		{"a command of another type", nil, `{"command": 7}`, failure.ConfigInvalid, "number", "list of texts"},
		{"no time", nil, `{"timeout": 0}`, failure.ConfigInvalid, "timeout is 0", ""},
		{"no JSON", nil, `{`, failure.ConfigInvalid, "termination", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newTestStrategy(t, tt.env...)
			_, err := s.Decide(t.Context(), sdk.DecideRequest{Iteration: 1, Config: json.RawMessage(tt.config), WorkDir: t.TempDir()})
			f := failure.From(err)
			if f == nil || f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) {
				t.Errorf("failure %+v; want kind %s, message with %q, hint with %q", f, tt.kind, tt.message, tt.hint)
			}
		})
	}
}

func TestDecideWithAnUnreadableOutput(t *testing.T) {
	s, _ := newTestStrategy(t)
	req := sdk.DecideRequest{Iteration: 1, Outputs: []sdk.FileRef{{Path: filepath.Join(t.TempDir(), "gone.md")}}, WorkDir: t.TempDir()}
	if _, err := s.Decide(t.Context(), req); failure.KindOf(err) != failure.StrategyFailed {
		t.Errorf("error %v, want strategy_failed", err)
	}
}

func TestDecideCancelled(t *testing.T) {
	s, _ := newTestStrategy(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := s.Decide(ctx, sdk.DecideRequest{Iteration: 1, WorkDir: t.TempDir()}); err == nil {
		t.Errorf("decision %+v, want an error", d)
	}
}
