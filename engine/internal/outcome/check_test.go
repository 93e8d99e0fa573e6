package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// newCheckFixture returns a fixture whose node has one check.
func newCheckFixture(t *testing.T, c plan.Check, a checkFunc) *fixture {
	t.Helper()
	b := newFixture(t, a)
	b.node.Checks = []plan.Check{c}
	return b
}

// The action gets the whole configuration, its facts are kept in a file, and the event has the result.
func TestCheck(t *testing.T) {
	var got sdk.HookRequest
	c := plan.Check{ID: "tests", Timeout: 60, Config: json.RawMessage(`{"type":"tests","command":"go test"}`)}
	b := newCheckFixture(t, c, func(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
		got = req
		return factsCheck(`{"type":"tests","passed":false,"reason":"1 of 2 tests failed","exit_code":1,"counts":{"passed":1,"failed":1},"failed":["A"],"own":{"output":"key hunter2hunter2"}}`)(ctx, req)
	})
	b.settler.Redactor = redact.New([]string{"MY_TOKEN=hunter2hunter2"})
	d := b.check("tests")
	want := event.CheckResultData{ID: "tests", Type: "tests", At: "exit", Reason: "1 of 2 tests failed", ExitCode: new(1), Counts: map[string]int{"passed": 1, "failed": 1}, Facts: d.Facts}
	if diff := cmp.Diff(want, d); diff != "" || d.Facts == nil || d.Facts.Path != "stage-01-verify/iterations/001/checks/tests.json" {
		t.Errorf("%s, %+v", diff, d.Facts)
	}
	if text := b.text(d.Facts); strings.Contains(text, "hunter2") || !strings.Contains(text, `"own":{"output":"key `) {
		t.Errorf("facts %s", text)
	}
	req := sdk.HookRequest{
		Key: "PL-1/check:1/v1/r1/-/-/i1#1", Point: sdk.IterationEnd, Session: "demo", Node: "verify", Stage: "verifier", Iteration: 1, Provider: "agent",
		Status: "running", Config: c.Config, Timeout: time.Minute, WorkDir: b.settler.Project.Path(),
	}
	testkit.Equal(t, req, got)
}

// A check that the plan skips is journaled as skipped, and its action does not run.
func TestSkippedCheck(t *testing.T) {
	b := newCheckFixture(t, plan.Check{ID: "lint", Optional: true, SkipReason: `there is no command "lint"`, Config: json.RawMessage(`{"type":"command"}`)},
		func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
			t.Error("the action was called")
			return sdk.HookAnswer{}, nil
		})
	want := event.CheckResultData{ID: "lint", Type: "command", At: "exit", Passed: true, Skipped: true, Reason: `there is no command "lint"`}
	testkit.Equal(t, want, b.check("lint"))
}

// A check at the entry belongs to the visit, not to an iteration.
func TestCheckAtTheEntry(t *testing.T) {
	b := newCheckFixture(t, plan.Check{ID: "before", At: plan.AtEnter, Config: json.RawMessage(`{"type":"command"}`)}, factsCheck(`{"passed":true}`))
	b.at.Iteration = 0
	if d := b.check("before"); !d.Passed || d.At != "enter" || d.Facts.Path != "stage-01-verify/checks/before.json" {
		t.Errorf("%+v", d)
	}
}

// A check that could not run has not passed, and has a failure, unlike a check that failed.
func TestChecksWithoutResult(t *testing.T) {
	says := func(f string, o string, err error) checkFunc {
		return func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
			return sdk.HookAnswer{Facts: json.RawMessage(f), Outcome: o}, err
		}
	}
	missing := failure.New(failure.HookFailed, "the command of the check exited with 127").WithHint("install it")
	for _, tt := range []struct {
		name           string
		act            checkFunc
		reason, kind   string
		message, facts string
	}{
		{"no program", says("", "", missing), "", "hook_failed", "the command of the check exited with 127", ""},
		{"it crashed", says("", "", failure.New(failure.ProviderCrashed, "gone")), "", "provider_crashed", "gone", ""},
		{"another error", says("", "", errors.New("odd")), "", "internal", "odd", ""},
		{"no facts", says("", "", nil), "", "hook_failed", "the answer of check c is unreadable: unexpected end of JSON input", ""},
		{"null", says("null", "", nil), "", "hook_failed", "the answer of check c is unreadable: it has no facts", ""},
		{"facts of another kind", says(`{"passed":"yes"}`, "", nil), "", "hook_failed", "the check c: read the facts of a check: ", ""},
		{"too much", says(`{"output":"`+strings.Repeat("x", maxFacts)+`"}`, "", nil), "", "hook_failed", "the answer of check c is unreadable: 10", ""},
		{"no time", says("", "", failure.New(failure.HookTimeout, "the command of the check did not end within 1s")), "the command of the check did not end within 1s", "", "", ""},
		{"an outcome is worse than its facts", says(`{"passed":true}`, "fail", nil), "it did not pass", "", "", "there"},
		{"nothing said", says(`{}`, "", nil), "it did not pass", "", "", "there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newCheckFixture(t, plan.Check{ID: "c", Config: json.RawMessage(`{}`)}, tt.act).check("c")
			if d.Passed || d.Reason != tt.reason || (d.Facts != nil) != (tt.facts != "") {
				t.Errorf("%+v", d)
			}
			kind, message := "", ""
			if d.Failure != nil {
				kind, message = d.Failure.ErrorType, d.Failure.Message
			}
			if kind != tt.kind || !strings.HasPrefix(message, tt.message) || tt.kind != "" && d.Failure.Node != "verify" {
				t.Errorf("%+v", d.Failure)
			}
		})
	}
}

// An action that exceeds its timeout is canceled and has not passed.
func TestCheckThatHangs(t *testing.T) {
	for timeout, want := range map[float64]time.Duration{1: time.Second + hook.GracePeriod, 0: hook.DefaultTimeout} {
		synctest.Test(t, func(t *testing.T) {
			b := newCheckFixture(t, plan.Check{ID: "c", Timeout: timeout, Config: json.RawMessage(`{}`)}, func(ctx context.Context, _ sdk.HookRequest) (sdk.HookAnswer, error) {
				<-ctx.Done()
				return sdk.HookAnswer{Facts: json.RawMessage(`{"passed":true}`)}, nil
			})
			began := time.Now()
			d := b.check("c")
			if took := time.Since(began); took != want || d.Passed || d.Failure != nil || !strings.HasPrefix(d.Reason, "the check did not end within ") {
				t.Errorf("%s: %+v", took, d)
			}
		})
	}
}

// A stopped check has a failure: it runs again when the run continues.
func TestCheckThatIsStopped(t *testing.T) {
	b := newCheckFixture(t, plan.Check{ID: "c", Config: json.RawMessage(`{}`)}, func(ctx context.Context, _ sdk.HookRequest) (sdk.HookAnswer, error) {
		<-ctx.Done()
		return sdk.HookAnswer{}, failure.New(failure.HookTimeout, "cut off")
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(failure.New(failure.SignalInterrupt, "stopped"))
	j := kernel.EffectRequest{Node: b.node, State: b.state}
	j.Command.Location, j.Command.Check = b.at, "c"
	d, err := event.Decode[event.CheckResultData](b.settler.Check(ctx, j))
	if err != nil || d.Failure == nil || d.Failure.ErrorType != string(failure.SignalInterrupt) {
		t.Errorf("%+v, %v", d, err)
	}
}

// A check that failed because another call crashed their shared process runs once more.
func TestCheckThatIsAvoided(t *testing.T) {
	calls := 0
	b := newCheckFixture(t, plan.Check{ID: "c", Config: json.RawMessage(`{}`)}, func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
		if calls++; calls == 1 {
			return sdk.HookAnswer{}, fmt.Errorf("call: %w", pluginhost.ErrCollateralFailure)
		}
		return sdk.HookAnswer{Facts: json.RawMessage(`{"passed":true}`)}, nil
	})
	if d := b.check("c"); !d.Passed || calls != 2 {
		t.Errorf("%+v after %d calls", d, calls)
	}
}

func TestCheckThatThePlanLacks(t *testing.T) {
	if d := newCheckFixture(t, plan.Check{ID: "c"}, nil).check("d"); d.Failure == nil || !strings.Contains(d.Failure.Message, `no check "d"`) {
		t.Errorf("%+v", d)
	}
}

// B7: the files come from the node's input artifact, so that an agent cannot choose the files that measure its work;
// else they come from the node's own artifact. The files must be paths inside the project.
func TestFilesOfAnArtifact(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	for _, tt := range []struct {
		name, input, output string
		at                  string
		want                string // the files, as JSON
		reason, failure     string
	}{
		{name: "of the input", input: `{"files":["a_test.go","./sub/../a_test.go"]}`, output: `{"files":["other.go"]}`, want: `["a_test.go","a_test.go"]`},
		{name: "of its own", input: `{"x":1}`, output: `{"files":"a_test.go"}`, want: `["a_test.go"]`},
		{name: "like an option", input: `{"files":["-v"]}`, want: `["./-v"]`},
		{name: "not its own before it worked", input: `{"x":1}`, at: plan.AtEnter, failure: "no artifact has the field files"},
		{name: "no artifact", failure: "no artifact has the field files"},
		{name: "no list", input: `{"files":{"a":1}}`, reason: `files names no files: it is {"a":1}`},
		{name: "none", input: `{"files":[]}`, reason: "files names no files: it is "},
		{name: "absolute", input: `{"files":["/etc/passwd"]}`, reason: `files names "/etc/passwd", which is not a path within the project`},
		{name: "out of the project", input: `{"files":["a/../../x"]}`, reason: `files names "a/../../x", which is not a path within the project`},
		{name: "by a link", input: `{"files":["link"]}`, reason: `files names "link", which cannot be used: `},
		{name: "not there", input: `{"files":["b_test.go"]}`, reason: `files names "b_test.go", which does not exist`},
		{name: "empty", input: `{"files":[""]}`, reason: `files names "", which is not a path within the project`},
		{name: "a null byte", input: `{"files":["a\u0000b"]}`, reason: `files names "a\x00b", which is not a path within the project`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var reported struct {
				Type  string
				Files json.RawMessage
			}
			c := plan.Check{ID: "c", At: tt.at, FilesFrom: "files", Config: json.RawMessage(`{"type":"command"}`)}
			b := newCheckFixture(t, c, func(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
				err := json.Unmarshal(req.Config, &reported)
				return sdk.HookAnswer{Facts: json.RawMessage(`{"passed":true}`)}, err
			})
			b.node.Artifact = &plan.Artifact{}
			root := b.settler.Project.Path()
			for _, name := range []string{"a_test.go", "-v"} {
				testkit.OK(t, os.WriteFile(filepath.Join(root, name), nil, 0o644))
			}
			testkit.OK(t, errors.Join(os.WriteFile(outside, nil, 0o644), os.Symlink(outside, filepath.Join(root, "link"))))
			if tt.input != "" {
				var data map[string]any
				testkit.OK(t, json.Unmarshal([]byte(tt.input), &data))
				ref := testkit.Must(artifact.Write(b.settler.Dir, b.settler.Plan, event.Location{Node: "0", Visit: 1, Run: 1}, artifact.Artifact{Meta: artifact.NewMeta(&b.settler.Plan.Nodes[0], time.Now()), Data: data}))
				b.state.Nodes["0"] = state.Node{Artifacts: map[string]event.Ref{event.Artifact: ref}}
			}
			if tt.output != "" {
				b.attempt(agent{result: `{"summary":"s","artifact":` + tt.output + `}`})
			}
			d := b.check("c")
			if d.Passed != (tt.want != "") || string(reported.Files) != tt.want || !strings.HasPrefix(d.Reason, tt.reason) || (d.Reason == "") != (tt.reason == "") {
				t.Errorf("%+v, files %s", d, reported.Files)
			}
			if message := ""; d.Failure != nil || tt.failure != "" {
				if d.Failure != nil {
					message = d.Failure.Message
				}
				if tt.failure == "" || !strings.HasPrefix(message, tt.failure) {
					t.Errorf("failure %q", message)
				}
			}
			if tt.want != "" && reported.Type != "command" {
				t.Errorf("reported %+v", reported)
			}
		})
	}
}
