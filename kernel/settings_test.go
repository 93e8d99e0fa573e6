package kernel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

// picky is a provider that notes how it is configured and refuses what a test says.
type picky struct {
	agent
	refuse func(config string) error
	seen   *[]string // "validate <model> <config>", "work <model> <config>"
}

func (p picky) Validate(_ context.Context, req sdk.ValidateRequest) error {
	*p.seen = append(*p.seen, "validate "+req.Model+" "+string(req.Config))
	if p.refuse == nil {
		return nil
	}
	return p.refuse(string(req.Config))
}

func (p picky) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	*p.seen = append(*p.seen, string(req.Purpose)+" "+req.Model+" "+string(req.Config))
	return p.agent.Execute(ctx, req, x)
}

const oneStage = `{name: two, defaults: {provider: helper}, nodes: [{id: a, prompt: go}]}`

// configuredEngine has the provider p, and the user's config.yaml in a directory that it returns.
func configuredEngine(t *testing.T, p sdk.Provider, config string, more ...kernel.Option) (e *kernel.Engine, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := kernel.NewEngine(append([]kernel.Option{
		kernel.WithWorkDir(project(t, oneStage)), kernel.WithConfigDir(dir), kernel.WithCacheDir("-"),
		kernel.WithExecutable("-"), kernel.WithEnvironment(nil), kernel.WithProvider(p),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e, file
}

func runTwo(t *testing.T, e *kernel.Engine) *kernel.Result {
	t.Helper()
	result, err := e.Run(t.Context(), kernel.RunOptions{Pipeline: "two", Session: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// U265: the user's config reaches Validate, before work, and Execute; the user's model is the default; a
// program's word wins over the file's; an entry for nobody is a warning. Nothing of it is in the session.
func TestProviderConfig(t *testing.T) {
	file := "providers:\n  helper: {model: m9, config: {key: of-the-file}}\n  helpr: {model: x}\n"
	for _, tt := range []struct {
		name   string
		config string
		more   []kernel.Option
		want   []string
		warns  string
	}{
		{"nothing is said", "", nil, []string{"validate m1 ", "work m1 "}, ""},
		{"the file", file, nil, []string{
			`validate m9 {"key":"of-the-file"}`, `work m9 {"key":"of-the-file"}`,
		}, `config.yaml:3:3: warning[AP-YAML-203]: there is no provider "helpr": what is said of it has no effect (there is agent)`},
		{"a program", file, []kernel.Option{kernel.WithProviderConfig("agent", []byte(`{"key":"of-the-program"}`))}, []string{
			`validate m9 {"key":"of-the-program"}`, `work m9 {"key":"of-the-program"}`,
		}, "helpr"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			e, _ := configuredEngine(t, picky{seen: &seen}, tt.config, tt.more...)
			result := runTwo(t, e)
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Error(diff)
			}
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

// U301: what a provider refuses is told in its own words with the place in the file, before anything is
// written; what it refuses for other reasons is left as it is.
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
			e, file := configuredEngine(t, picky{seen: &seen, refuse: func(string) error { return refusal }}, config)
			_, err := e.Run(t.Context(), kernel.RunOptions{Pipeline: "two", Session: "demo"})
			if err == nil {
				t.Fatal("it ran")
			}
			if got, want := err.Error(), strings.ReplaceAll(tt.want, "%s", file); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if f := failure.From(err); f.Kind != tt.kind || f.Hint != "write max_turns" || !errors.Is(err, refusal) {
				t.Errorf("failure %+v", f)
			}
			if _, err := e.Status("demo"); !errors.Is(err, kernel.ErrNoSession) {
				t.Errorf("status: %v", err)
			}
		})
	}
}

// A broken config.yaml keeps sessions from running, with all its faults, and nobody from looking at them.
func TestBrokenSettings(t *testing.T) {
	e, file := configuredEngine(t, agent{}, "provider: {}\nproviders: []\n")
	var faults kernel.Diagnostics
	_, err := e.Run(t.Context(), kernel.RunOptions{Pipeline: "two", Session: "demo"})
	if !errors.As(err, &faults) || len(faults) != 2 || faults[0].File != file || faults[0].Line != 1 || faults[1].Line != 2 {
		t.Errorf("run: %v", err)
	}
	if _, err := e.Resume(t.Context(), kernel.ResumeOptions{Session: "demo"}); !errors.As(err, &faults) {
		t.Errorf("resume: %v", err)
	}
	if sessions, err := e.Sessions(); err != nil || len(sessions) > 0 {
		t.Errorf("sessions %v, %v", sessions, err)
	}
}

// Two names of one provider are told by their places.
func TestProviderConfiguredTwice(t *testing.T) {
	e, file := configuredEngine(t, agent{}, "providers:\n  agent: {model: a}\n  helper: {model: b}\n")
	_, err := e.Run(t.Context(), kernel.RunOptions{Pipeline: "two", Session: "demo"})
	want := file + `:3:3: error[AP-YAML-106]: "helper" is the provider "agent", of which line 2 speaks as "agent" (keep one of the two)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A resumed session has the settings of the day.
func TestResumeTakesTheSettingsOfTheDay(t *testing.T) {
	var seen []string
	p := picky{seen: &seen, agent: agent{work: func(context.Context, sdk.ExecuteRequest) error {
		return failure.New(failure.AgentError, "not today")
	}}}
	e, _ := configuredEngine(t, p, "providers: {agent: {model: m2, config: {turns: 1}}}")
	if result := runTwo(t, e); result.ResumeCommand == "" {
		t.Fatalf("result %+v", result)
	}
	seen = nil
	later, err := kernel.NewEngine(kernel.WithWorkDir(e.WorkDir()), kernel.WithConfigDir(t.TempDir()), kernel.WithCacheDir("-"), kernel.WithExecutable("-"),
		kernel.WithEnvironment(nil), kernel.WithProvider(picky{seen: &seen}), kernel.WithProviderConfig("agent", []byte(`{"turns":2}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close(context.Background())
	if result, err := later.Resume(t.Context(), kernel.ResumeOptions{Session: "demo"}); err != nil || !result.Success {
		t.Fatalf("resume: %+v, %v", result, err)
	}
	want := []string{`validate m2 {"turns":2}`, `work m2 {"turns":2}`} // the model is the plan's
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

// DESIGN 6: settings that lie in the project are not the user's.
func TestProjectBringsNoSettings(t *testing.T) {
	root := project(t, oneStage)
	if err := os.WriteFile(filepath.Join(root, "config.yaml"), []byte("providers: {agent: {config: {a: 1}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	e, err := kernel.NewEngine(kernel.WithWorkDir(root), kernel.WithConfigDir(root), kernel.WithCacheDir("-"),
		kernel.WithExecutable("-"), kernel.WithEnvironment(nil), kernel.WithProvider(picky{seen: &seen}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	result := runTwo(t, e)
	if !strings.Contains(result.Warnings.Error(), "must not bring its own settings") {
		t.Errorf("warnings %v", result.Warnings)
	}
	if diff := cmp.Diff([]string{"validate m1 ", "work m1 "}, seen); diff != "" {
		t.Error(diff)
	}
}

// A config that a program gives is an object, or the engine is not made.
func TestProviderConfigOption(t *testing.T) {
	for _, config := range []string{"", "{", "[]", "null", `"x"`} {
		e, err := kernel.NewEngine(kernel.WithWorkDir(t.TempDir()), kernel.WithConfigDir(t.TempDir()), kernel.WithProviderConfig("agent", []byte(config)))
		if !errors.Is(err, kernel.ErrOptions) || !strings.Contains(err.Error(), `"agent"`) {
			t.Errorf("config %q: %v, %v", config, e, err)
		}
	}
}
