package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// replaceByDirectory makes a file something that cannot be read as one, also by root.
func replaceByDirectory(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o755)); err != nil {
		t.Fatal(err)
	}
}

// A journal or a lock that cannot be read is told by everything that needs it, by its name.
func TestUnreadableFiles(t *testing.T) {
	for _, tt := range []struct{ name, file string }{{"the journal", "events.jsonl"}, {"the lock", "../../locks/demo.lock"}} {
		t.Run(tt.name, func(t *testing.T) {
			e, dir := stopped(t)
			replaceByDirectory(t, filepath.Join(dir, tt.file))
			for what, do := range map[string]func() error{
				"status": func() error { _, err := e.Status("demo"); return err },
				"pause":  func() error { return e.PauseSession(t.Context(), "demo", "", "") },
				"abort":  func() error { return e.AbortSession(t.Context(), "demo", "", "") },
				"run": func() error {
					_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
					return err
				},
				"resume": func() error { _, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); return err },
			} {
				if err := do(); err == nil || !strings.Contains(err.Error(), filepath.Base(tt.file)) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// A list of sessions shows what can be read, and names what cannot.
func TestSessionsWithBrokenState(t *testing.T) {
	e, dir := stopped(t)
	rewrite(t, filepath.Join(dir, "state.json"), func([]byte) []byte { return []byte("{") })
	sessions, err := e.Sessions()
	if err != nil || len(sessions) != 1 || sessions[0].Session != "demo" || sessions[0].Status != "" {
		t.Errorf("sessions %+v, %v", sessions, err)
	}
	if result, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !result.Success { // it is only a view
		t.Errorf("resume: %+v, %v", result, err)
	}
}

// What is asked of a session that is not there, or never began, says which of the two it is.
func TestAskedOfNobody(t *testing.T) {
	root := project(t, oneStage)
	e := eng(t, root, agent{})
	if err := os.MkdirAll(filepath.Join(root, ".claude/pipeline-runs/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		session string
		want    error
	}{{"gone", engine.ErrNoSession}, {"empty", engine.ErrNothingToResume}} {
		if err := e.PauseSession(t.Context(), tt.session, "", ""); !errors.Is(err, tt.want) {
			t.Errorf("pause %s: %v", tt.session, err)
		}
		if err := e.AbortSession(t.Context(), tt.session, "", ""); !errors.Is(err, tt.want) {
			t.Errorf("abort %s: %v", tt.session, err)
		}
		if _, err := e.Resume(t.Context(), engine.ResumeOptions{Session: tt.session}); !errors.Is(err, tt.want) {
			t.Errorf("resume %s: %v", tt.session, err)
		}
	}
}

// U301: names that nothing has are told with those that there are, of all plugins.
func TestUnknownNames(t *testing.T) {
	e := probed(t, project(t, `{name: two, nodes: [{id: a, prompt: go, provider: agnt, termination: {type: curius}}]}`), agent{})
	var faults engine.Diagnostics
	_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	if !errors.As(err, &faults) || len(faults) != 2 {
		t.Fatalf("error %v", err)
	}
	text := faults.Error()
	for _, want := range []string{`did you mean "agent"?`, "available: agent, falling", `did you mean "curious"?`, "available: checks, curious, endless, fixed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// A plan that names what cannot be is refused before anything is written.
func TestPlanOfNonsense(t *testing.T) {
	e := alone(t, project(t, oneStage))
	for _, tt := range []struct {
		name, want string
		node       plan.Node
	}{
		{"no such provider", `unknown provider: nobody`, plan.Node{Provider: &plan.Provider{Type: "nobody"}}},
		{"no such strategy", `unknown termination: nothing`, plan.Node{Provider: &plan.Provider{Type: "agent"}, Termination: plan.Termination{"type": "nothing"}}},
		{"an environment that is none", "read policy.env", plan.Node{Provider: &plan.Provider{Type: "agent"}, Policy: &plan.Policy{Env: []byte("5")}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.node.Path, tt.node.ID, tt.node.Kind, tt.node.Prompt = "0", "a", plan.KindStage, "go"
			_, err := e.Run(t.Context(), engine.RunOptions{Plan: &plan.Plan{Version: plan.Version, Nodes: []plan.Node{tt.node}}, Session: "demo"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "stage a: ") {
				t.Errorf("error %v", err)
			}
			if _, err := e.Status("demo"); !errors.Is(err, engine.ErrNoSession) {
				t.Errorf("status: %v", err)
			}
		})
	}
}

// `plugins list` and `trust` work without a session.
func TestPluginsAndTrust(t *testing.T) {
	root := t.TempDir()
	e := probed(t, root, agent{})
	listing, err := e.Plugins(t.Context())
	if err != nil || len(listing.Plugins) != 1 || listing.Plugins[0].Name != "probe" || string(listing.Plugins[0].Source) != engine.SourceBundled {
		t.Errorf("%+v, %v", listing, err)
	}
	if err := e.Trust(root); err != nil {
		t.Error(err)
	}
	off := probed(t, root, agent{}, engine.WithoutBundled("a test"))
	if listing, err := off.Plugins(t.Context()); err != nil || len(listing.Plugins) != 0 {
		t.Errorf("turned off: %+v, %v", listing, err)
	}
}
