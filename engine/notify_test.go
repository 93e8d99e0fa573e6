package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// bell is a hook action that writes down what it was told and which variable it sees.
type bell struct{}

type bellConfig struct {
	File     string `json:"file"`
	TokenEnv string `json:"token_env"`
	Broken   bool   `json:"broken"`
}

func (bell) Describe() sdk.Component { return sdk.Component{Name: "bell"} }

func (bell) Validate(_ context.Context, req sdk.ValidateRequest) error {
	return config.Decode(req.Config, &bellConfig{})
}

func (bell) Run(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
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

// asksOnce is a project in which a person is asked once.
const asksOnce = `{name: two, defaults: {provider: agent}, hooks: {stage_end: [{action: confirm, message: "Good?"}]}, nodes: [{id: a, prompt: go}]}`

// withNotify is a user's directory with notify settings.
func withNotify(t *testing.T, notify string) engine.Option {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("notify:\n"+notify), 0o600); err != nil {
		t.Fatal(err)
	}
	return engine.WithConfigDir(dir)
}

// told are the lines that the bell wrote.
func told(t *testing.T, root string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "bell.log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// A person is told that a session waits, and reminded until they answer; then that it has ended. What the action answers
// has no effect, and an action that fails changes nothing.
func TestNotified(t *testing.T) {
	root := project(t, asksOnce)
	e := probed(t, root, agent{}, engine.WithEnvironment([]string{"BELL=ding", "OTHER=no"}), withNotify(t,
		"  - {action: bell, on: [waiting, completed], repeat: 1, file: bell.log, token_env: BELL}\n  - {action: bell, broken: true}\n"))
	answered := make(chan error, 1)
	times, broken := 0, ""
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
		} else if times++; times == 2 {
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
	got := told(t, root)
	want := []string{
		"waiting running ding session 'demo' waits for you: Good? (agent-pipelines approve demo)",
		"waiting running ding session 'demo' still waits for you: Good? (agent-pipelines approve demo)",
		"completed completed ding session 'demo' completed",
	}
	if len(got) > len(want) { // a slow machine reminds once more
		got = append(got[:2], got[len(got)-1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got)\n%s", diff)
	}
	if broken != "waiting: the bell is broken" {
		t.Errorf("the broken one: %q", broken)
	}
}

// A session that pauses for a person tells it before Run returns; resumed without an answer, it tells it again.
func TestNotifiedOfPause(t *testing.T) {
	root := project(t, asksOnce)
	e := probed(t, root, agent{}, withNotify(t, "  - {action: bell, file: bell.log}\n"))
	if r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); err != nil || r.Status != state.Paused {
		t.Fatalf("%+v, %v", r, err)
	}
	line := "waiting running  session 'demo' waits for you: Good? (agent-pipelines approve demo)"
	if diff := cmp.Diff([]string{line}, told(t, root)); diff != "" {
		t.Errorf("told (-want +got)\n%s", diff)
	}
	if r, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || r.Status != state.Paused {
		t.Fatalf("%+v, %v", r, err)
	}
	if diff := cmp.Diff([]string{line, line}, told(t, root)); diff != "" {
		t.Errorf("told (-want +got)\n%s", diff)
	}
	if err := e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Answer: event.AnswerReject}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{line, line}, told(t, root)); diff != "" { // whoever answers knows
		t.Errorf("told (-want +got)\n%s", diff)
	}
}

// What the action refuses, and an action that does not exist, is told with its place before anything is written.
func TestNotifyIsChecked(t *testing.T) {
	for _, tt := range []struct{ notify, want string }{
		{"  - {action: bell}\n  - {action: bell, fil: x}\n", `config.yaml:3:5: config: unknown key "fil", did you mean "file"?`},
		{"  - {action: bel}\n", `config.yaml:2:6: error[AP-YAML-208]: there is no hook action "bel" (did you mean "bell"?)`},
	} {
		root := project(t, asksOnce)
		e := probed(t, root, agent{}, withNotify(t, tt.notify))
		_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
		if _, again := e.Preflight(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); again == nil || again.Error() != err.Error() {
			t.Errorf("Preflight says %v", again)
		}
		if sessions, err := e.Sessions(); err != nil || len(sessions) > 0 {
			t.Errorf("sessions %v, %v", sessions, err)
		}
	}
}

// config shows each key of an entry with its place, of the action's own only the names.
func TestNotifySettings(t *testing.T) {
	e := probed(t, project(t, asksOnce), agent{}, withNotify(t, "  - {action: bell, on: [waiting, failed], repeat: 900, timeout: 2.5, file: secret.log}\n"))
	s, err := e.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range s.Settings {
		_, at, _ := strings.Cut(row.From, "config.yaml:")
		got = append(got, row.Key+" = "+row.Value+" "+at)
	}
	want := []string{
		"notify.1.action = bell 2:6", "notify.1.config = {file} 2:70", "notify.1.on = waiting, failed 2:20", "notify.1.repeat = 900 2:43",
		"notify.1.timeout = 2.5 2:56",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Effects elsewhere can be left out of a run: nobody is told, hooks of the actions named are taken to have answered
// continue, and checks are made nevertheless.
func TestWithoutEffects(t *testing.T) {
	root := project(t, `{name: two, defaults: {provider: agent}, hooks: {stage_end: [{action: check, checks: []}, {action: bell, file: bell.log}]}, nodes: [{id: a, prompt: go}]}`)
	tests := map[string]struct {
		options []engine.Option
		bells   int // the hook's, and that of notify
	}{
		"with all":     {nil, 2},
		"without them": {[]engine.Option{engine.WithoutHooks("webhook", "bell"), engine.WithoutNotify()}, 0},
		"without any":  {[]engine.Option{engine.WithoutHooks(engine.AllHooks), engine.WithoutNotify()}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(root, "bell.log"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			checked := 0
			options := slices.Concat(tt.options, []engine.Option{engine.WithHookAction(gauge{}), withNotify(t, "  - {action: bell, on: [completed, aborted], file: bell.log}\n")})
			r, err := probed(t, root, agent{}, options...).Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "s", Force: true, Observe: func(u engine.Update) {
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
