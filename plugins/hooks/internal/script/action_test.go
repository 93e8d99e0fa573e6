package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A script runs in the project with the firing as variables, and its stdout becomes context (REQUIREMENTS U246).
func TestScript(t *testing.T) {
	long := strings.Repeat("x", firing.MaxContext)
	tests := []struct {
		name, config string
		files        map[string]string
		change       func(*sdk.HookRequest)
		want         string // the context
	}{
		{name: "a command", config: `{"command": "printf ' two\\n words \\n'"}`, want: "two\n words"},
		{name: "silence", config: `{"command": "echo trouble >&2"}`, want: ""},
		{
			name: "its variables",
			config: `{"command": "cd . && ls && for n in SESSION NODE STAGE ITERATION PROVIDER POINT STATUS HOOK_KEY MESSAGE CONTEXT; do
				eval echo $n=\\$AGENT_PIPELINES_$n; done; cat $AGENT_PIPELINES_CONTEXT_FILE"}`,
			files:  map[string]string{"go.mod": ""},
			change: func(r *sdk.HookRequest) { r.Message = "look" },
			want: "go.mod\nSESSION=auth\nNODE=build\nSTAGE=improve\nITERATION=2\nPROVIDER=claude\nPOINT=iteration_end\nSTATUS=running\n" +
				"HOOK_KEY=hook:1/v1/r1/-/-/i2#1\nMESSAGE=look\nCONTEXT=so far\nso far",
		},
		{name: "the user's environment", config: `{"command": "echo $TOOLCHAIN $MORE", "env": {"MORE": "b"}}`, want: "a b"},
		{name: "no terminal and no input", config: `{"command": "cat; echo end"}`, want: "end"},
		{
			name: "a file with arguments that no shell reads", config: `{"script": "tools/x.sh", "args": ["a b", "$HOME"]}`,
			files: map[string]string{"tools/x.sh": "#!/bin/sh\necho \"$# $1 $2 $PWD\" | sed \"s|$PWD|here|\"\n"}, want: "2 a b $HOME here",
		},
		{
			name: "a context that is too long for a variable", config: `{"command": "echo [$AGENT_PIPELINES_CONTEXT]; wc -c <$AGENT_PIPELINES_CONTEXT_FILE | tr -d ' '"}`,
			change: func(r *sdk.HookRequest) { r.Context = strings.Repeat("y", 3<<20) }, want: "[]\n3145728",
		},
		{
			name: "a context with a zero byte", config: `{"command": "echo $AGENT_PIPELINES_CONTEXT; wc -c <$AGENT_PIPELINES_CONTEXT_FILE | tr -d ' '"}`,
			change: func(r *sdk.HookRequest) { r.Context = "a\x00b" }, want: "ab\n3",
		},
		{name: "more than is kept", config: `{"command": "head -c 262154 /dev/zero | tr '\\0' x"}`, want: long + "\n[10 more bytes were left out]"},
		{name: "at the end of a session", config: `{"command": "echo x"}`, change: func(r *sdk.HookRequest) { r.Point = sdk.SessionEnd }, want: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := firingtest.Runner(t, "TOOLCHAIN=a", "AGENT_PIPELINES_CONTEXT=of another run")
			req := firingtest.Request(t, strings.NewReplacer("\n", " ", "\t", "").Replace(tt.config), tt.files)
			if tt.change != nil {
				tt.change(&req)
			}
			got, err := (&Action{r}).Run(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			want := sdk.HookAnswer{Action: sdk.ActionContinue}
			if tt.want != "" {
				want = sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: tt.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%.2000s", diff)
			}
			if left, _ := filepath.Glob(filepath.Join(r.TempDir, "*")); len(left) > 0 {
				t.Errorf("left behind %q", left)
			}
		})
	}
}

func TestScriptFails(t *testing.T) {
	tests := []struct {
		name, config string
		texts        []string
	}{
		{"its exit code", `{"command": "echo lost; echo first >&2; echo boom >&2; exit 3"}`, []string{"the script exited with code 3", "first\nboom"}},
		{"a signal", `{"command": "kill -9 $$"}`, []string{"ended by signal 9"}},
		{"a missing program", `{"command": "nosuchprogram"}`, []string{"exit code 127"}},
		{"a missing file", `{"script": "gone.sh"}`, []string{"the script gone.sh", "no such file"}},
		{"a file that cannot be executed", `{"script": "plain.sh"}`, []string{"permission denied"}},
		{"arguments that are too long", `{"script": "/bin/true", "args": ["` + strings.Repeat("x", 200_000) + `"]}`, []string{"argument list too long"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, err := (&Action{firingtest.Runner(t)}).Run(t.Context(), firingtest.Request(t, tt.config, map[string]string{"plain.sh": "echo"}))
			firingtest.CheckError(t, err, failure.HookFailed, tt.texts...)
			if diff := cmp.Diff(sdk.HookAnswer{}, answer); diff != "" {
				t.Errorf("an answer beside the error:\n%s", diff)
			}
		})
	}
}

func TestScriptLogsStderr(t *testing.T) {
	var log strings.Builder
	r := firingtest.Runner(t)
	r.Log = &log
	req := firingtest.Request(t, `{"command": "echo one >&2; printf two >&2"}`, nil)
	if _, err := (&Action{r}).Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if want := "the script: one\nthe script: two\n"; log.String() != want {
		t.Errorf("log %q, want %q", log.String(), want)
	}
}

// processTree starts three more processes, one of which ignores SIGTERM and all of which hold stdout, and writes
// their ids to the file pids.
const processTree = `(trap "" TERM; sh -c "sleep 600; true" & echo $! >>pids; exec sleep 600) & echo $! >>pids; sleep 600 & echo $! >>pids; echo $$ >>pids; until [ $(wc -l <pids) -ge 4 ]; do sleep 0.01; done; echo lost; `

// livingProcesses returns the process ids in a file that still exist. A zombie counts as gone.
func livingProcesses(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(string(text))
	if len(pids) != 4 {
		t.Fatalf("started %q", pids)
	}
	var left []string
	for _, p := range pids {
		pid, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		if !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !strings.HasPrefix(state, "Z") {
			left = append(left, p)
		}
	}
	return left
}

// A script that exceeds its limit leaves no process, and its output never becomes context (REQUIREMENTS U249). A
// script that exits leaves no process either.
func TestScriptLeavesNoProcess(t *testing.T) {
	tests := []struct {
		name, then string
		timeout    time.Duration
		kind       failure.Kind
	}{
		{"it takes too long", "wait", 2 * time.Second, failure.HookTimeout},
		{"it ignores SIGTERM itself", `trap "" TERM; while :; do sleep 1; done`, 2 * time.Second, failure.HookTimeout},
		{"it fails", "exit 4", time.Minute, failure.HookFailed},
		{"it ends well", "exit 0", time.Minute, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := firingtest.Request(t, fmt.Sprintf(`{"command": %q}`, processTree+tt.then), nil)
			req.Timeout = tt.timeout
			answer, err := (&Action{firingtest.Runner(t)}).Run(t.Context(), req)
			firingtest.CheckError(t, err, tt.kind)
			if tt.kind != "" && answer.Context != "" {
				t.Errorf("%q became context", answer.Context)
			}
			if left := livingProcesses(t, filepath.Join(req.WorkDir, "pids")); len(left) > 0 {
				t.Errorf("processes %q are still there", left)
			}
		})
	}
}

// A script may clean up when its limit has passed, even while it waits for a program.
func TestScriptCleansUp(t *testing.T) {
	req := firingtest.Request(t, `{"command": "trap 'echo tidy >done; exit 0' TERM; sleep 600"}`, nil)
	req.Timeout = time.Second
	_, err := (&Action{firingtest.Runner(t)}).Run(t.Context(), req)
	firingtest.CheckError(t, err, failure.HookTimeout, "the script took longer than 1s")
	if text, err := os.ReadFile(filepath.Join(req.WorkDir, "done")); err != nil || string(text) != "tidy\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestScriptStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	req := firingtest.Request(t, fmt.Sprintf(`{"command": %q}`, processTree+"echo up >&2; wait"), nil)
	r := firingtest.Runner(t)
	r.Log = writerFunc(func() { cancel() })
	_, err := (&Action{r}).Run(ctx, req)
	firingtest.CheckError(t, err, failure.SignalInterrupt, "the script was stopped")
	if left := livingProcesses(t, filepath.Join(req.WorkDir, "pids")); len(left) > 0 {
		t.Errorf("processes %q are still there", left)
	}
}

// writerFunc is called at each write.
type writerFunc func()

func (w writerFunc) Write(b []byte) (int, error) { w(); return len(b), nil }

func TestScriptConforms(t *testing.T) {
	plugintest.HookAction(t, plugintest.HookActionConfig{
		New:    func(t testing.TB) sdk.HookAction { return &Action{firingtest.Runner(t)} },
		Config: json.RawMessage(`{"command": "echo mind the gap"}`),
		Cases: []plugintest.HookCase{
			{Name: "prints", Request: sdk.HookRequest{Point: sdk.StageEnd}, Want: sdk.ActionModifyContext},
			{Name: "prints in vain", Request: sdk.HookRequest{Point: sdk.SessionEnd}},
			{Name: "is silent", Request: sdk.HookRequest{Config: json.RawMessage(`{"command": "true"}`)}},
		},
		Refused: firingtest.Configs(`{}`, `{"command": "a", "script": "b"}`),
	})
}

// The error of an invalid key names the key (REQUIREMENTS U243).
func TestValidate(t *testing.T) {
	action := New()
	firingtest.Validate(t, action, [][2]string{
		{`{"command": "make report"}`, ""},
		{`{"script": "tools/x.sh", "args": ["a"], "env": {"A": "b"}}`, ""},
		{`{}`, "command and script are missing"},
		{`{"run": "x"}`, `unknown key "run"`},
		{`{"comand": "x"}`, `did you mean "command"?`},
		{`{"command": "x", "script": "y"}`, "exclude each other"},
		{`{"command": "x", "args": ["y"]}`, "args belong to script"},
		{`{"command": "x\u0000"}`, "zero byte"},
		{`{"command": "x", "env": {"A=B": "c"}}`, "not an environment variable"},
		{`{"command": "x", "env": {"AGENT_PIPELINES_STAGE": "c"}}`, "AGENT_PIPELINES_STAGE is reserved"},
		{`{"command": "x", "env": {"A": 3}}`, "want a string"},
	})
}

// The schema is written by hand, so it must declare the keys that the struct reads.
func TestSchemaDeclaresAllKeys(t *testing.T) {
	plugintest.SchemaKeys(t, schema, Config{})
}
