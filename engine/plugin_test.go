package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// probeWord is the argument with which the test program serves the plugin probe.
const probeWord = "serve-probe"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probeWord {
		os.Exit(serve.Run(probe(), os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == writerWord {
		os.Exit(writeSession(os.Args[2:]))
	}
	home, err := os.MkdirTemp("", "kernel-test")
	if err != nil {
		panic(err)
	}
	// examples do not isolate themselves from the user's files
	err = errors.Join(os.Setenv("XDG_CONFIG_HOME", home), os.Setenv("XDG_CACHE_HOME", home), os.Setenv("XDG_STATE_HOME", home), os.Unsetenv("AGENT_PIPELINES_PLUGIN_DIR"))
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(home)
		os.Exit(code)
	}))
}

// probe returns a plugin with a crashing provider, strategies and an action; it runs in its own process.
func probe() sdk.Plugin {
	return sdk.Plugin{Name: "probe", Version: "1.0.0", Providers: []sdk.Provider{crashingProvider{}}, Terminations: []sdk.Termination{askingStrategy{}, endlessStrategy{}}, HookActions: []sdk.HookAction{bellAction{}}}
}

// withProbe adds the plugin probe to an engine.
func withProbe() engine.Option {
	return engine.WithBundled(engine.Bundled{
		Name: "probe", Args: []string{probeWord}, Describe: func() (sdk.Description, error) { return serve.Description(probe()) },
	})
}

// crashingProvider ends its process if the file "fall" exists; otherwise it works and prints its environment
// variables.
type crashingProvider struct{}

func (crashingProvider) Describe() sdk.Component { return sdk.Component{Name: "falling"} }

func (crashingProvider) Execute(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	if os.Remove("fall") == nil {
		fmt.Fprintln(os.Stderr, "the last words of the probe")
		os.Exit(7)
	}
	return sdk.ExecuteResult{Output: "sees " + os.Getenv("SEEN") + os.Getenv("UNSEEN")}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"done"}`), 0o644)
}

// askingStrategy asks the provider helper whether to stop. It releases a session by writing a file.
type askingStrategy struct{}

func (askingStrategy) Describe() sdk.Component { return sdk.Component{Name: "curious"} }

func (askingStrategy) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	if req.Answer == nil {
		return sdk.Decision{Action: sdk.DecisionAsk, Question: &sdk.Question{Prompt: "enough?", Provider: "helper"}}, nil
	}
	return sdk.Decision{Action: sdk.DecisionStop, Reason: req.Answer.Output}, nil
}

func (askingStrategy) Release(_ context.Context, session string) error {
	return os.WriteFile("released-"+session, nil, 0o600)
}

func (askingStrategy) Validate(context.Context, sdk.ValidateRequest) error { return nil }

// endlessStrategy never stops.
type endlessStrategy struct{}

func (endlessStrategy) Describe() sdk.Component { return sdk.Component{Name: "endless"} }

func (endlessStrategy) Decide(context.Context, sdk.DecideRequest) (sdk.Decision, error) {
	return sdk.Decision{Action: sdk.DecisionContinue}, nil
}

// answeringAgent is an agent that also answers questions.
type answeringAgent struct{ configRecorder }

func (a answeringAgent) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Purpose == sdk.PurposeQuestion {
		*a.seen = append(*a.seen, string(req.Purpose)+" "+req.Model+" "+string(req.Config))
		return sdk.ExecuteResult{Output: "it is enough"}, nil
	}
	return a.configRecorder.Execute(ctx, req, x)
}

// probeEngine returns an engine for the project with the plugin probe and the agent.
func probeEngine(t *testing.T, root string, p sdk.Provider, more ...engine.Option) *engine.Engine {
	t.Helper()
	return newEngine(t, root, p, append([]engine.Option{withProbe()}, more...)...)
}

const strategyPipeline = `{name: two, defaults: {provider: agent}, nodes: [{id: a, prompt: go, termination: {type: curious, max: 3}}]}`

// U265, U274: a strategy's question reaches its provider with the user's configuration, whether the question uses the
// provider's name or an alias.
func TestQuestionHasTheUsersConfig(t *testing.T) {
	var seen []string
	e := probeEngine(t, project(t, strategyPipeline), answeringAgent{configRecorder{seen: &seen}}, engine.WithProviderConfig("helper", []byte(`{"turns":3}`)))
	var reasons []string
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Observe: func(u engine.Update) {
		if u.Event != nil && u.Event.Type == event.Decision {
			d, err := event.Decode[event.DecisionData](*u.Event)
			if err != nil {
				t.Error(err)
			}
			reasons = append(reasons, d.Action+" "+d.Reason)
		}
	}}))
	want := []string{`validate m1 {"turns":3}`, `work m1 {"turns":3}`, `validate  {"turns":3}`, `question  {"turns":3}`}
	testkit.Equal(t, want, seen)
	testkit.Equal(t, []string{"ask ", "stop it is enough"}, reasons)
}

// The resources of a dead kernel's session are released when the session's lock is removed, which any run does.
func TestDeadSessionIsReleased(t *testing.T) {
	root := project(t, strategyPipeline)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stopped := agent{work: func(ctx context.Context, _ sdk.ExecuteRequest) error {
		cancel(errors.New("stop"))
		<-ctx.Done()
		return ctx.Err()
	}}
	testkit.Must(probeEngine(t, root, stopped).Run(ctx, engine.RunOptions{Pipeline: "two", Session: "old"}))
	ended := exec.Command("true")
	testkit.OK(t, ended.Run())
	for _, session := range []string{"old", "never"} { // "never" has only a lock
		lock := fmt.Sprintf(`{"session":%q,"pid":%d,"started_at":"2026-01-01T00:00:00Z"}`, session, ended.Process.Pid)
		testkit.OK(t, os.WriteFile(filepath.Join(root, ".claude/locks", session+".lock"), []byte(lock), 0o600))
	}
	var seen []string
	testkit.OK(t, completed(probeEngine(t, root, answeringAgent{configRecorder{seen: &seen}}).Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "new"})))
	released, err := filepath.Glob(filepath.Join(root, "released-*"))
	if diff := cmp.Diff([]string{filepath.Join(root, "released-old")}, released); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// Starts and crashes of plugin processes are journaled, with names but no values of variables, and
// the attempt is repeated in a new process. policy.env limits the provider's variables.
func TestPluginCrashIsJournaled(t *testing.T) {
	for _, tt := range []struct{ name, env, want string }{
		{"a list", "[SEEN]", "sees yes"}, {"a word", "minimal", "sees"}, {"all", "inherit", "sees yesno"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := project(t, `{name: two, defaults: {provider: falling}, policy: {env: `+tt.env+`, retry: {backoff: [0]}}, nodes: [{id: a, prompt: go}]}`)
			testkit.OK(t, os.WriteFile(filepath.Join(root, "fall"), nil, 0o600))
			e := probeEngine(t, root, agent{}, engine.WithEnvironment([]string{"SEEN=yes", "UNSEEN=no", "PATH=/bin"}))
			result, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
			if err != nil || !result.Success {
				t.Fatalf("%+v, %v", result, err)
			}
			journal := testkit.Must(os.ReadFile(filepath.Join(result.Dir, "events.jsonl")))
			text := string(journal)
			if strings.Count(text, `"type":"plugin_started"`) != 2 || strings.Count(text, `"type":"plugin_crashed"`) != 1 || !strings.Contains(text, "the last words of the probe") {
				t.Errorf("journal:\n%s", text)
			}
			output, err := os.ReadFile(filepath.Join(result.Dir, "stage-00-a/iterations/001/output.md"))
			if got := strings.TrimSpace(string(output)); err != nil || got != tt.want {
				t.Errorf("output %q, want %q, %v", got, tt.want, err)
			}
		})
	}
}

// A loop that only reaches its iteration limit is not successful. Every ended loop is recorded for the project.
func TestLoop(t *testing.T) {
	for _, tt := range []struct {
		name     string
		strategy string
		fail     bool
		status   state.Status
		success  bool
		word     string
	}{
		{"its strategy is content", "fixed", false, state.Completed, true, `"complete"`},
		{"no iteration is left", "endless", false, state.Completed, false, `"max_iterations"`},
		{"it fails", "fixed", true, state.Failed, false, `"failed"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, ".claude/stages/tick")
			err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "stage.yaml"), []byte("name: tick\nprovider: agent\ndelay: 0\ntermination: {type: "+tt.strategy+"}\n"), 0o644),
				os.WriteFile(filepath.Join(dir, "prompt.md"), []byte("tick"), 0o644))
			testkit.OK(t, err)
			e := probeEngine(t, root, agent{work: func(context.Context, sdk.ExecuteRequest) error {
				if tt.fail {
					return failure.New(failure.ConfigInvalid, "no")
				}
				return nil
			}})
			result, err := e.Run(t.Context(), engine.RunOptions{Stage: "tick", Max: 2})
			if err != nil || result.Status != tt.status || result.Success != tt.success || result.Mode != "loop" || result.Session != "tick" {
				t.Fatalf("%+v, %v", result, err)
			}
			list, err := os.ReadFile(filepath.Join(root, ".claude/loop-completions.json"))
			if err != nil || !strings.Contains(string(list), tt.word) {
				t.Errorf("completions %s, %v", list, err)
			}
			if tt.fail {
				return
			}
			// The removed file simulates a kernel that was killed before it recorded the end. The next resume is
			// refused, but records the end, once.
			testkit.OK(t, os.Remove(filepath.Join(root, ".claude/loop-completions.json")))
			for range 2 {
				if _, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "tick"}); !errors.Is(err, engine.ErrTerminal) {
					t.Fatalf("resume: %v", err)
				}
				again, err := os.ReadFile(filepath.Join(root, ".claude/loop-completions.json"))
				if err != nil || !bytes.Equal(again, list) {
					t.Errorf("completions %s, %v; want %s", again, err, list)
				}
			}
		})
	}
}
