package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

// readOperations returns the operations that only read a session; writeOperations returns the operations that change it.
func readOperations(t *testing.T) map[string]func(*engine.Engine) error {
	ctx := t.Context()
	return map[string]func(*engine.Engine) error{
		"status":    func(e *engine.Engine) error { return testkit.Error(e.Status("demo")) },
		"list":      func(e *engine.Engine) error { return testkit.Error(e.Sessions()) },
		"questions": func(e *engine.Engine) error { return testkit.Error(e.Questions("demo")) },
		"artifacts": func(e *engine.Engine) error { return testkit.Error(e.Artifacts("demo")) },
		"history":   func(e *engine.Engine) error { return testkit.Error(e.History("demo")) },
		"metrics":   func(e *engine.Engine) error { return testkit.Error(e.Metrics("demo")) },
		"health":    func(e *engine.Engine) error { return testkit.Error(e.Health("demo")) },
		"tail": func(e *engine.Engine) error {
			return e.Tail(ctx, "demo", 5, false, func(event.Event) error { return nil })
		},
		"follow": func(e *engine.Engine) error {
			return e.Follow(ctx, "demo", 5, func(engine.Update) error { return nil })
		},
		"preflight of a resume": func(e *engine.Engine) error {
			return testkit.Error(e.PreflightResume(ctx, engine.ResumeOptions{Session: "demo"}))
		},
		"repair, to see": func(e *engine.Engine) error {
			return testkit.Error(e.Repair(ctx, engine.RepairOptions{Session: "demo", DryRun: true}))
		},
	}
}

func writeOperations(t *testing.T) map[string]func(*engine.Engine) error {
	ctx := t.Context()
	return map[string]func(*engine.Engine) error{
		"pause":    func(e *engine.Engine) error { return e.PauseSession(ctx, "demo", "", "") },
		"abort":    func(e *engine.Engine) error { return e.AbortSession(ctx, "demo", "", "") },
		"feedback": func(e *engine.Engine) error { return e.Feedback(ctx, "demo", "mind the gap", "me") },
		"answer": func(e *engine.Engine) error {
			return e.Answer(ctx, engine.AnswerOptions{Session: "demo", Answer: event.AnswerApprove})
		},
		"resume": func(e *engine.Engine) error {
			return testkit.Error(e.Resume(ctx, engine.ResumeOptions{Session: "demo"}))
		},
		"run": func(e *engine.Engine) error {
			return testkit.Error(e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo", Force: true}))
		},
	}
}

// A file in place of a directory, or the reverse, is reported by every operation that needs it and never
// overwritten.
func TestObstructedSession(t *testing.T) {
	for _, tt := range []struct {
		name, file string   // in the session, "." for its directory
		dir        bool     // replaced by a directory, else by a file
		fine       []string // operations that do not need the file
		text       string
	}{
		{"the journal is a directory", "events.jsonl", true, []string{"list"}, "/events.jsonl: is a directory"},
		{"plan.json is a directory", "plan.json", true, []string{"list", "tail"}, "plan.json"},
		{"the session is a file", ".", false, []string{"list"}, "demo: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, dir := pausedSession(t)
			name := filepath.Join(dir, tt.file)
			testkit.OK(t, os.RemoveAll(name))
			if tt.dir {
				name = filepath.Join(name, "in-the-way")
				testkit.OK(t, os.Mkdir(filepath.Dir(name), 0o755))
			}
			testkit.OK(t, os.WriteFile(name, []byte("mine"), 0o600))
			for verb, do := range readOperations(t) {
				switch err := do(e); {
				case slices.Contains(tt.fine, verb):
					if err != nil {
						t.Errorf("%s: %v", verb, err)
					}
				case err == nil || !strings.Contains(err.Error(), tt.text):
					t.Errorf("%s: %v, want an error that says %q", verb, err, tt.text)
				}
			}
			for verb, do := range writeOperations(t) {
				if err := do(e); err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%s: %v, want an error that says %q", verb, err, tt.text)
				}
			}
			testkit.Equal(t, "mine", string(testkit.Must(os.ReadFile(name))))
		})
	}
}

// state.json is derived: an obstacle in its place does not affect readers.
func TestObstructedView(t *testing.T) {
	e, dir := pausedSession(t)
	name := filepath.Join(dir, "state.json")
	testkit.OK(t, errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "in-the-way"), 0o755)))
	for verb, do := range readOperations(t) {
		if err := do(e); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if _, err := os.Stat(filepath.Join(name, "in-the-way")); err != nil {
		t.Error(err)
	}
}

// Every operation that needs an existing session reports a missing one.
func TestNoSuchSession(t *testing.T) {
	e := newEngine(t, project(t, twoStages), agent{})
	for _, verbs := range []map[string]func(*engine.Engine) error{readOperations(t), writeOperations(t)} {
		for verb, do := range verbs {
			if verb == "list" || verb == "run" {
				continue
			}
			if err := do(e); !errors.Is(err, engine.ErrNoSession) || !strings.Contains(err.Error(), "demo") {
				t.Errorf("%s: %v", verb, err)
			}
		}
	}
}

// U251: an invalid answer is refused with the reason, and not journaled.
func TestInvalidAnswers(t *testing.T) {
	root := project(t, confirmOnce)
	e := newEngine(t, root, agent{})
	if r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); err != nil || len(r.Questions) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	before := len(types(t, e, "demo"))
	long := strings.Repeat("x", event.MaxText+1)
	for name, tt := range map[string]struct {
		answer engine.AnswerOptions
		is     error
		text   string
	}{
		"no such question":      {engine.AnswerOptions{Question: "Q-9", Answer: event.AnswerApprove}, engine.ErrNoQuestion, "has no question Q-9 open"},
		"no such answer":        {engine.AnswerOptions{Answer: "perhaps"}, engine.ErrOptions, `does not accept "perhaps"`},
		"feedback to a confirm": {engine.AnswerOptions{Answer: event.AnswerReject, Text: "no"}, engine.ErrOptions, "accepts no feedback"},
		"an empty text":         {engine.AnswerOptions{Answer: event.AnswerApprove, Text: " \n"}, engine.ErrOptions, "the text of the answer is empty"},
		"a text that is long":   {engine.AnswerOptions{Answer: event.AnswerApprove, Text: long}, engine.ErrOptions, "at most"},
		"another digest":        {engine.AnswerOptions{Answer: event.AnswerApprove, Digest: "0"}, engine.ErrNoQuestion, "has changed since it was shown"},
	} {
		tt.answer.Session = "demo"
		if err := e.Answer(t.Context(), tt.answer); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %q", name, err, tt.text)
		}
	}
	for text, says := range map[string]string{"": "the feedback is empty", "  ": "the feedback is empty", long: "at most"} {
		if err := e.Feedback(t.Context(), "demo", text, "me"); !errors.Is(err, engine.ErrOptions) || !strings.Contains(err.Error(), says) {
			t.Errorf("feedback: %v, want %q", err, says)
		}
	}
	testkit.Equal(t, before, len(types(t, e, "demo")))
	approve := engine.AnswerOptions{Session: "demo", Answer: event.AnswerApprove, By: "ann"}
	testkit.OK(t, e.Answer(t.Context(), approve))
	if err := e.Answer(t.Context(), approve); !errors.Is(err, engine.ErrNoQuestion) || !strings.Contains(err.Error(), "is already answered: approve by ann") {
		t.Errorf("a second time: %v", err)
	}
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
	for name, err := range map[string]error{"answer": e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: "Q-9"}), "feedback": e.Feedback(t.Context(), "demo", "well done", "me")} {
		if !errors.Is(err, engine.ErrTerminal) || !strings.Contains(err.Error(), "already completed") {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}

// U251: a resume that does not match the session's state is refused with that state.
func TestInvalidResumes(t *testing.T) {
	e, _ := pausedSession(t)
	for name, tt := range map[string]struct {
		o    engine.ResumeOptions
		text string
	}{
		"no step has failed":      {engine.ResumeOptions{SkipFailedStep: true}, "has no failed step to skip: it is at stage plan"},
		"another number of runs":  {engine.ResumeOptions{Runs: 3}, "was started to run its pipeline once, not 3 times"},
		"a stage that is none":    {engine.ResumeOptions{Rerun: "absent"}, `has no stage "absent"`},
		"a stage that is to come": {engine.ResumeOptions{Rerun: "build"}, "build cannot be run again"},
	} {
		tt.o.Session = "demo"
		if _, err := e.Resume(t.Context(), tt.o); !errors.Is(err, engine.ErrOptions) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %q", name, err, tt.text)
		}
	}
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Runs: 1})))
}

// An unreadable lock is reported by name by every operation that needs it.
func TestUnreadableLock(t *testing.T) {
	e, dir := pausedSession(t)
	lock := filepath.Join(dir, "../../locks/demo.lock")
	testkit.OK(t, errors.Join(os.RemoveAll(lock), os.MkdirAll(lock, 0o755))) // unreadable, also for root
	for name, err := range map[string]error{
		"status": testkit.Error(e.Status("demo")),
		"pause":  e.PauseSession(t.Context(), "demo", "", ""),
		"abort":  e.AbortSession(t.Context(), "demo", "", ""),
		"run":    testkit.Error(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})),
		"resume": testkit.Error(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})),
	} {
		if err == nil || !strings.Contains(err.Error(), "demo.lock") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A list of sessions includes unreadable sessions by name.
func TestSessionsWithBrokenState(t *testing.T) {
	e, dir := pausedSession(t)
	rewriteFile(t, filepath.Join(dir, "state.json"), func([]byte) []byte { return []byte("{") })
	sessions, err := e.Sessions()
	if err != nil || len(sessions) != 1 || sessions[0].Session != "demo" || sessions[0].Status != "" {
		t.Errorf("sessions %+v, %v", sessions, err)
	}
	if result, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !result.Success { // state.json is derived
		t.Errorf("resume: %+v, %v", result, err)
	}
}

// U301: unknown names are reported with the known names of all plugins.
func TestUnknownNames(t *testing.T) {
	e := probeEngine(t, project(t, `{name: two, nodes: [{id: a, prompt: go, provider: agnt, termination: {type: curius}}]}`), agent{})
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

// A plan with unknown components is refused before anything is written.
func TestPlanWithUnknownComponents(t *testing.T) {
	e := newEngine(t, project(t, onePipeline), agent{})
	for _, tt := range []struct {
		name, want string
		node       plan.Node
	}{
		{"no such provider", `unknown provider: absent`, plan.Node{Provider: &plan.Provider{Type: "absent"}}},
		{"no such strategy", `unknown termination: nothing`, plan.Node{Provider: &plan.Provider{Type: "agent"}, Termination: plan.Termination{"type": "nothing"}}},
		{"an environment that is none", "read policy.env", plan.Node{Provider: &plan.Provider{Type: "agent"}, Policy: &plan.Policy{Env: []byte("5")}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.node.Path, tt.node.ID, tt.node.Kind, tt.node.Prompt = "0", "a", plan.KindStage, "go"
			_, err := e.Run(t.Context(), engine.RunOptions{Plan: &plan.Plan{Version: plan.Version, Nodes: []plan.Node{tt.node}}, Session: "demo"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "stage a: ") {
				t.Errorf("error %v", err)
			}
			wantError(t, testkit.Error(e.Status("demo")), engine.ErrNoSession)
		})
	}
}

// Plugins and Trust work without a session.
func TestPluginsAndTrust(t *testing.T) {
	root := t.TempDir()
	e := probeEngine(t, root, agent{})
	listing, err := e.PluginHost().List(t.Context())
	if err != nil || len(listing.Plugins) != 1 || listing.Plugins[0].Name != "probe" || string(listing.Plugins[0].Source) != string(pluginhost.FromBundle) {
		t.Errorf("%+v, %v", listing, err)
	}
	if err := e.PluginHost().Trust(root); err != nil {
		t.Error(err)
	}
	off := probeEngine(t, root, agent{}, engine.WithoutBundled("a test"))
	if listing, err := off.PluginHost().List(t.Context()); err != nil || len(listing.Plugins) != 0 {
		t.Errorf("turned off: %+v, %v", listing, err)
	}
}
