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
	e = testkit.Must(engine.NewEngine(append([]engine.Option{
		engine.WithWorkDir(project(t, onePipeline)), engine.WithConfigDir(dir), engine.WithCacheDir("-"),
		engine.WithExecutable("-"), engine.WithEnvironment(nil), engine.WithProvider(p),
	}, more...)...))
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e, file
}

func runTwo(t *testing.T, e *engine.Engine) *engine.Result {
	t.Helper()
	result := testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}))
	return result
}

// U265: the user's config reaches Validate, before work, and Execute; the user's model is the default. A
// program's option overrides the file; an entry without a provider is a warning. The session contains no
// config.
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
			if _, err := e.Status("demo"); !errors.Is(err, engine.ErrNoSession) {
				t.Errorf("status: %v", err)
			}
		})
	}
}

// A faulty config.yaml prevents runs, with all its faults, but no queries.
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

// Two entries for one provider are reported with their positions.
func TestProviderConfiguredTwice(t *testing.T) {
	e, file := configuredEngine(t, agent{}, "providers:\n  agent: {model: a}\n  helper: {model: b}\n")
	_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	want := file + `:3:3: error[AP-YAML-106]: "helper" is the provider "agent", of which line 2 speaks as "agent" (keep one of the two)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
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
	later := testkit.Must(engine.NewEngine(engine.WithWorkDir(e.WorkDir()), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"), engine.WithExecutable("-"),
		engine.WithEnvironment(nil), engine.WithProvider(configRecorder{seen: &seen}), engine.WithProviderConfig("agent", []byte(`{"turns":2}`))))
	defer later.Close(context.Background())
	if result, err := later.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !result.Success {
		t.Fatalf("resume: %+v, %v", result, err)
	}
	want := []string{`validate m2 {"turns":2}`, `work m2 {"turns":2}`} // the model is the plan's
	testkit.Equal(t, want, seen)
}

// DESIGN 6: settings inside the project are not the user's.
func TestProjectBringsNoSettings(t *testing.T) {
	root := project(t, onePipeline)
	testkit.OK(t, os.WriteFile(filepath.Join(root, "config.yaml"), []byte("providers: {agent: {config: {a: 1}}}"), 0o600))
	var seen []string
	e := testkit.Must(engine.NewEngine(engine.WithWorkDir(root), engine.WithConfigDir(root), engine.WithCacheDir("-"),
		engine.WithExecutable("-"), engine.WithEnvironment(nil), engine.WithProvider(configRecorder{seen: &seen})))
	defer e.Close(context.Background())
	result := runTwo(t, e)
	if !strings.Contains(result.Warnings.Error(), "it is not the user's word") {
		t.Errorf("warnings %v", result.Warnings)
	}
	testkit.Equal(t, []string{"validate m1 ", "work m1 "}, seen)
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
	return reopenEngine(t, e, seen, filepath.Dir(userFile), more...)
}

func configFile(t *testing.T, e *engine.Engine) string {
	t.Helper()
	s := testkit.Must(e.Authoring().Settings(t.Context()))
	return s.UserFile
}

// reopenEngine returns a new engine for the same project, which reads its files again.
func reopenEngine(t *testing.T, e *engine.Engine, seen *[]string, config string, more ...engine.Option) *engine.Engine {
	t.Helper()
	again := testkit.Must(engine.NewEngine(append([]engine.Option{
		engine.WithWorkDir(e.WorkDir()), engine.WithConfigDir(config), engine.WithCacheDir("-"),
		engine.WithExecutable("-"), engine.WithEnvironment(nil), engine.WithProvider(configRecorder{seen: seen}),
	}, more...)...))
	t.Cleanup(func() {
		if err := again.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return again
}

// DESIGN 6, REQUIREMENTS C4: the project's model overrides the user's. The project's config requires trust,
// and then overrides the user's.
func TestProjectSettings(t *testing.T) {
	var seen []string
	e := layeredEngine(t, &seen, "providers: {helper: {model: p, config: {of: project}}}", "providers: {agent: {model: u, config: {of: user}}}")
	result := runTwo(t, e)
	testkit.Equal(t, []string{`validate p {"of":"user"}`, `work p {"of":"user"}`}, seen)
	want := ".claude/config.yaml:1:32: warning[AP-YAML-309]: providers.helper.config is left out: it may name programs to be run, and the project is not trusted"
	if got := result.Warnings.Error(); !strings.HasPrefix(got, want) {
		t.Errorf("warnings %s, want %s", got, want)
	}
	testkit.OK(t, e.PluginHost().Trust(e.WorkDir()))
	seen = nil
	trusting := reopenEngine(t, e, &seen, filepath.Dir(configFile(t, e)))
	result, err := trusting.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "trusted"})
	if err != nil || len(result.Warnings) > 0 {
		t.Errorf("warnings %v, %v", result.Warnings, err)
	}
	testkit.Equal(t, []string{`validate p {"of":"project"}`, `work p {"of":"project"}`}, seen)
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

// Faults of both files are reported together; lint reports the project's as its own target and checks the
// others.
func TestBrokenProjectSettings(t *testing.T) {
	e := layeredEngine(t, &[]string{}, "backgroun: off\n", "")
	var faults engine.Diagnostics
	if _, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); !errors.As(err, &faults) || len(faults) != 1 || faults[0].File != ".claude/config.yaml" {
		t.Errorf("run: %v", err)
	}
	if _, err := e.Authoring().Settings(t.Context()); !errors.As(err, &faults) {
		t.Errorf("settings: %v", err)
	}
	if got := e.Authoring().Background(false); got != authoring.BackgroundUnset {
		t.Errorf("background %s", got)
	}
	for name, o := range map[string]authoring.LintOptions{"all": {}, "a pipeline": {Pipelines: []string{"two"}}} {
		targets, err := e.Authoring().Lint(t.Context(), o)
		if err != nil || len(targets) != 2 || !targets[0].Passed || targets[0].Kind != authoring.LintPipeline || targets[1].Passed || targets[1].Kind != authoring.LintConfig {
			t.Errorf("lint %s: %+v, %v", name, targets, err)
		}
	}
	targets, err := e.Authoring().Lint(t.Context(), authoring.LintOptions{Files: []string{"./.claude/config.yaml"}})
	if err != nil || len(targets) != 1 || targets[0].Name != ".claude/config.yaml" || len(targets[0].Diagnostics) != 1 {
		t.Errorf("lint of the file: %+v, %v", targets, err)
	}
	broken := layeredEngine(t, &[]string{}, "backgroun: off\n", "provider: {}\n")
	if _, err := broken.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); !errors.As(err, &faults) || len(faults) != 2 {
		t.Errorf("both: %v", err)
	}
}

// Two names of one provider in the project's file are a fault that only assignment finds; lint reports it.
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

// DESIGN 6: if the user's directory is inside the project, the project cannot trust itself, and Trust is
// refused with the reason.
func TestProjectCannotTrustItself(t *testing.T) {
	var seen []string
	first := layeredEngine(t, &seen, "providers: {agent: {config: {of: project}}}", "")
	inside := filepath.Join(first.WorkDir(), "config")
	text := `{"version": 1, "directories": ["` + first.WorkDir() + `"]}`
	testkit.OK(t, errors.Join(os.Mkdir(inside, 0o700), os.WriteFile(filepath.Join(inside, "trusted.json"), []byte(text), 0o600)))
	e := reopenEngine(t, first, &seen, inside)
	if result := runTwo(t, e); !strings.Contains(result.Warnings.Error(), "the project is not trusted") {
		t.Errorf("warnings %v", result.Warnings)
	}
	testkit.Equal(t, []string{"validate m1 ", "work m1 "}, seen)
	err := e.PluginHost().Trust(e.WorkDir())
	if f := failure.From(err); f == nil || !strings.Contains(f.Message, "could trust itself") || !strings.Contains(f.Hint, "XDG_CONFIG_HOME") {
		t.Errorf("trust: %v", err)
	}
}
