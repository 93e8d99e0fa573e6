package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// bellAction is a hook action that logs its request and an environment variable.
type bellAction struct{}

type bellConfig struct {
	File     string `json:"file"`
	TokenEnv string `json:"token_env"`
	Broken   bool   `json:"broken"`
}

func (bellAction) Describe() sdk.Component { return sdk.Component{Name: "bell"} }

func (bellAction) Validate(_ context.Context, req sdk.ValidateRequest) error {
	return config.Decode(req.Config, &bellConfig{})
}

func (bellAction) Run(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	var c bellConfig
	if err := config.Decode(req.Config, &c); err != nil {
		return sdk.HookAnswer{}, err
	}
	if c.Broken {
		return sdk.HookAnswer{}, failure.New(failure.HookFailed, "the bell is broken")
	}
	f, err := os.OpenFile(filepath.Join(req.WorkDir, c.File), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	_, err = f.WriteString(string(req.Point) + " " + req.Status + " " + os.Getenv(c.TokenEnv) + " " + req.Message + "\n")
	return sdk.HookAnswer{Action: sdk.ActionAbort}, errors.Join(err, f.Close())
}

// confirmOnce is a pipeline that asks one question.
const confirmOnce = `{name: two, defaults: {provider: agent}, hooks: {stage_end: [{action: confirm, message: "Good?"}]}, nodes: [{id: a, prompt: go}]}`

// withNotify returns an option for a user's configuration with notify settings.
func withNotify(t *testing.T, notify string) engine.Option {
	t.Helper()
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("notify:\n"+notify), 0o600))
	return engine.WithConfigDir(dir)
}

// bellLines returns the lines that bellAction wrote.
func bellLines(t *testing.T, root string) []string {
	t.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join(root, "bell.log")))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// The user is notified when a session waits and when it ends. The action's answer has no effect, and a failing action
// changes nothing.
func TestNotify(t *testing.T) {
	root := project(t, confirmOnce)
	e := probeEngine(t, root, agent{}, engine.WithEnvironment([]string{"BELL=ding", "OTHER=no"}), withNotify(t,
		"  - {action: bell, on: [waiting, completed], file: bell.log, token_env: BELL}\n  - {action: bell, broken: true}\n"))
	answered := make(chan error, 1)
	broken := ""
	r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Wait: true, Observe: func(u engine.Update) {
		if u.Event == nil || u.Event.Type != event.Notified {
			return
		}
		d, err := event.Decode[event.NotifiedData](*u.Event)
		if err != nil {
			t.Error(err)
		}
		if d.Entry == 2 {
			broken += d.Point + ": " + d.Error
		} else if d.Point == string(sdk.SessionWaiting) {
			go func() {
				answered <- e.Answer(context.Background(), engine.AnswerOptions{Session: "demo", Answer: event.AnswerApprove})
			}()
		}
	}})
	if err != nil || r.Status != state.Completed {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	got := bellLines(t, root)
	want := []string{
		"waiting running ding session 'demo' waits for you: Good? (approve demo)",
		"completed completed ding session 'demo' completed",
	}
	testkit.Equal(t, want, got)
	if broken != "waiting: the bell is broken" {
		t.Errorf("the broken one: %q", broken)
	}
}

// Effects can be disabled: no notifications are sent, the named hooks count as answered with continue, and checks
// still run.
func TestDisabledEffects(t *testing.T) {
	root := project(t, `{name: two, defaults: {provider: agent}, hooks: {stage_end: [{action: check, checks: []}, {action: bell, file: bell.log}]}, nodes: [{id: a, prompt: go}]}`)
	tests := map[string]struct {
		options []engine.Option
		bells   int // calls by the hook and by notify
	}{
		"with all":     {nil, 2},
		"without them": {[]engine.Option{engine.WithoutHooks("webhook", "bell"), engine.WithoutNotify()}, 0},
		"without any":  {[]engine.Option{engine.WithoutHooks(engine.AllHooks), engine.WithoutNotify()}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			testkit.OK(t, os.WriteFile(filepath.Join(root, "bell.log"), nil, 0o600))
			checked := 0
			options := slices.Concat(tt.options, []engine.Option{engine.WithHookAction(checkAction{}), withNotify(t, "  - {action: bell, on: [completed, aborted], file: bell.log}\n")})
			r, err := probeEngine(t, root, agent{}, options...).Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "s", Force: true, Observe: func(u engine.Update) {
				if u.Event != nil && u.Event.Type == event.HookComplete && strings.Contains(string(u.Event.Data), `"action":"check"`) {
					checked++
				}
			}})
			text, errRead := os.ReadFile(filepath.Join(root, "bell.log"))
			if err != nil || errRead != nil || checked != 1 || strings.Count(string(text), "\n") != tt.bells {
				t.Errorf("%+v, %d checks, bells: %q, %v, %v", r, checked, text, err, errRead)
			}
		})
	}
}
