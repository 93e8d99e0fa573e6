package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// configRecorder is a provider that records its configuration and refuses it on request.
type configRecorder struct {
	agent
	refuse func(config string) error
	seen   *[]string // "validate <model> <config>", "work <model> <config>"
}

func (p configRecorder) Validate(_ context.Context, req sdk.ValidateRequest) error {
	*p.seen = append(*p.seen, "validate "+req.Model+" "+string(req.Config))
	if p.refuse == nil {
		return nil
	}
	return p.refuse(string(req.Config))
}

func (p configRecorder) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	*p.seen = append(*p.seen, string(req.Purpose)+" "+req.Model+" "+string(req.Config))
	return p.agent.Execute(ctx, req, x)
}

const onePipeline = `{name: two, defaults: {provider: helper}, nodes: [{id: a, prompt: go}]}`

// configuredEngine returns an engine with the provider p and the user's config.yaml, and the path of that
// file.
func configuredEngine(t *testing.T, p sdk.Provider, config string, more ...engine.Option) (e *engine.Engine, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "config.yaml")
	testkit.OK(t, os.WriteFile(file, []byte(config), 0o600))
	return newEngine(t, project(t, onePipeline), p, append(more, engine.WithConfigDir(dir))...), file
}

func runTwo(t *testing.T, e *engine.Engine) *engine.Result {
	t.Helper()
	return testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}))
}

// U265: the user's config reaches Validate, before work, and Execute; the user's model is the default. A
// program's option overrides the file; an entry for an unknown provider is a warning. No file of the session
// contains the config.
func TestProviderConfig(t *testing.T) {
	file := "providers:\n  helper: {model: m9, config: {key: of-the-file}}\n  helpr: {model: x}\n"
	for _, tt := range []struct {
		name   string
		config string
		more   []engine.Option
		want   []string
		warns  string
	}{
		{"nothing is said", "", nil, []string{"validate m1 ", "work m1 "}, ""},
		{"the file", file, nil, []string{
			`validate m9 {"key":"of-the-file"}`, `work m9 {"key":"of-the-file"}`,
		}, `config.yaml:3:3: warning[AP-YAML-203]: there is no provider "helpr": its settings have no effect (available: agent)`},
		{"a program", file, []engine.Option{engine.WithProviderConfig("agent", []byte(`{"key":"of-the-program"}`))}, []string{
			`validate m9 {"key":"of-the-program"}`, `work m9 {"key":"of-the-program"}`,
		}, "helpr"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			e, _ := configuredEngine(t, configRecorder{seen: &seen}, tt.config, tt.more...)
			result := runTwo(t, e)
			testkit.Equal(t, tt.want, seen)
			if got := result.Warnings.Error(); !strings.Contains(got, tt.warns) || tt.warns == "" && got != "" {
				t.Errorf("warnings %s, want %s", got, tt.warns)
			}
			err := filepath.WalkDir(result.Dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "of-the-") {
					t.Errorf("%s holds the config, %v", path, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// U301: a provider's rejection of its config is reported with the position in the file, before anything is
// written. Other errors are unchanged.
func TestProviderRefusesConfig(t *testing.T) {
	config := "providers:\n  helper:\n    config: {max_turn: 3}\n"
	for _, tt := range []struct {
		name string
		kind failure.Kind
		want string
	}{
		{"the config", failure.ConfigInvalid, "stage a: provider agent, configured at %s:3:5: unknown key"},
		{"something else", failure.ProviderMissing, "stage a: unknown key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refusal := failure.New(tt.kind, "unknown key").WithHint("write max_turns")
			var seen []string
			e, file := configuredEngine(t, configRecorder{seen: &seen, refuse: func(string) error { return refusal }}, config)
			_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
			if err == nil {
				t.Fatal("it ran")
			}
			if got, want := err.Error(), strings.ReplaceAll(tt.want, "%s", file); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if f := failure.From(err); f.Kind != tt.kind || f.Hint != "write max_turns" || !errors.Is(err, refusal) {
				t.Errorf("failure %+v", f)
			}
			wantError(t, testkit.Error(e.Status("demo")), engine.ErrNoSession)
		})
	}
}

// A config.yaml with faults prevents runs, whose error lists all faults, but does not prevent queries.
func TestBrokenSettings(t *testing.T) {
	e, file := configuredEngine(t, agent{}, "provider: {}\nproviders: []\n")
	var faults engine.Diagnostics
	_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	if !errors.As(err, &faults) || len(faults) != 2 || faults[0].File != file || faults[0].Line != 1 || faults[1].Line != 2 {
		t.Errorf("run: %v", err)
	}
	if _, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); !errors.As(err, &faults) {
		t.Errorf("resume: %v", err)
	}
	if sessions, err := e.Sessions(); err != nil || len(sessions) > 0 {
		t.Errorf("sessions %v, %v", sessions, err)
	}
}

// A resumed session uses the current settings.
func TestResumeUsesCurrentSettings(t *testing.T) {
	var seen []string
	p := configRecorder{seen: &seen, agent: agent{work: func(context.Context, sdk.ExecuteRequest) error {
		return failure.New(failure.AgentError, "not today")
	}}}
	e, _ := configuredEngine(t, p, "providers: {agent: {model: m2, config: {turns: 1}}}")
	if result := runTwo(t, e); result.ResumeCommand == "" {
		t.Fatalf("result %+v", result)
	}
	seen = nil
	later := newEngine(t, e.WorkDir(), configRecorder{seen: &seen}, engine.WithProviderConfig("agent", []byte(`{"turns":2}`)))
	testkit.OK(t, completed(later.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
	want := []string{`validate m2 {"turns":2}`, `work m2 {"turns":2}`} // the model is the plan's
	testkit.Equal(t, want, seen)
}

// A program's config must be an object.
func TestProviderConfigOption(t *testing.T) {
	for _, config := range []string{"", "{", "[]", "null", `"x"`} {
		e, err := engine.NewEngine(engine.WithWorkDir(t.TempDir()), engine.WithConfigDir(t.TempDir()), engine.WithProviderConfig("agent", []byte(config)))
		if !errors.Is(err, engine.ErrOptions) || !strings.Contains(err.Error(), `"agent"`) {
			t.Errorf("config %q: %v, %v", config, e, err)
		}
	}
}

// layeredEngine returns an engine for a project with the project's and the user's settings file.
func layeredEngine(t *testing.T, seen *[]string, project, user string, more ...engine.Option) *engine.Engine {
	t.Helper()
	e, userFile := configuredEngine(t, configRecorder{seen: seen}, user, more...)
	file := filepath.Join(e.WorkDir(), ".claude/config.yaml")
	testkit.OK(t, os.WriteFile(file, []byte(project), 0o644))
	return newEngine(t, e.WorkDir(), configRecorder{seen: seen}, append(more, engine.WithConfigDir(filepath.Dir(userFile)))...)
}

// A program's config overrides both files, and Settings shows each source.
func TestEffectiveSettings(t *testing.T) {
	e := layeredEngine(t, &[]string{},
		"background: tmux\ndefaults: {delay: 0.25}\ncommands: {test: make test}\nproviders: {helper: {model: p}}\n",
		"background: off\ndefaults: {delay: 9, provider: agent}\ncommands: {lint: make lint}\nproviders: {agent: {model: u, config: {turns: 1}}}\n",
		engine.WithProviderConfig("agent", []byte(`{"b":1,"a":{"secret":"x"}}`)))
	s := testkit.Must(e.Authoring().Settings(t.Context()))
	want := &authoring.Settings{
		ProjectFile: filepath.Join(e.WorkDir(), ".claude/config.yaml"), UserFile: s.UserFile,
		Settings: []authoring.Setting{
			{Key: "background", Value: "tmux", From: ".claude/config.yaml:1:1"},
			{Key: "commands.lint", Value: "make lint", From: s.UserFile + ":3:12"},
			{Key: "commands.test", Value: "make test", From: ".claude/config.yaml:3:12"},
			{Key: "defaults.delay", Value: "0.25", From: ".claude/config.yaml:2:12"},
			{Key: "defaults.provider", Value: "agent", From: s.UserFile + ":2:22"},
			{Key: "providers.agent.config", Value: "{a, b}", From: "WithProviderConfig"},
			{Key: "providers.agent.model", Value: "p", From: ".claude/config.yaml:4:22"},
		},
	}
	testkit.Equal(t, want, s)
	if got, ci := e.Authoring().Background(false), e.Authoring().Background(true); got != authoring.BackgroundTmux || ci != authoring.BackgroundOff {
		t.Errorf("background %s, unattended %s", got, ci)
	}
}

// Faults of both files are reported together; lint of a pipeline also reports the project's file as a target.
func TestBrokenProjectSettings(t *testing.T) {
	e := layeredEngine(t, &[]string{}, "backgroun: off\n", "")
	testkit.Equal(t, authoring.BackgroundUnset, e.Authoring().Background(false))
	targets, err := e.Authoring().Lint(t.Context(), authoring.LintOptions{Pipelines: []string{"two"}})
	if err != nil || len(targets) != 2 || !targets[0].Passed || targets[0].Kind != authoring.LintPipeline || targets[1].Passed || targets[1].Kind != authoring.LintConfig {
		t.Errorf("lint: %+v, %v", targets, err)
	}
	var faults engine.Diagnostics
	broken := layeredEngine(t, &[]string{}, "backgroun: off\n", "provider: {}\n")
	if _, err := broken.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); !errors.As(err, &faults) || len(faults) != 2 {
		t.Errorf("both: %v", err)
	}
}

// Lint also reports that the project's file has entries for two names of one provider, and an unknown provider.
func TestLintOfProjectSettings(t *testing.T) {
	e := layeredEngine(t, &[]string{}, "defaults: {provider: agnt}\nproviders: {agent: {model: a}, helper: {model: b}}\n", "")
	targets, err := e.Authoring().Lint(t.Context(), authoring.LintOptions{})
	if err != nil || len(targets) != 2 || targets[1].Passed || len(targets[1].Diagnostics) != 2 {
		t.Errorf("%+v, %v", targets, err)
	}
	whole := layeredEngine(t, &[]string{}, "background: off\n", "")
	if targets, err = whole.Authoring().Lint(t.Context(), authoring.LintOptions{Pipelines: []string{"two"}}); err != nil || len(targets) != 1 {
		t.Errorf("a sound file that was not asked for: %+v, %v", targets, err)
	}
	if targets, err = whole.Authoring().Lint(t.Context(), authoring.LintOptions{}); err != nil || len(targets) != 2 || !targets[1].Passed {
		t.Errorf("all: %+v, %v", targets, err)
	}
}
