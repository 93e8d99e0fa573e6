package statefile_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// ofBash is a state.json of the Bash engine.
const ofBash = `{
  "session": "demo", "type": "loop", "started_at": "2026-01-01T00:00:00Z", "status": "complete",
  "current_stage": 0, "iteration": 1, "iteration_completed": 1, "iteration_started": null, "stages": [],
  "history": [{"iteration": 1, "timestamp": "2026-01-01T00:01:00Z", "stage": "tick", "decision": "continue", "reason": "",
    "summary": "one", "files_touched": ["a"], "items_completed": [], "signals": {"plateau_suspected": false, "risk": "low", "notes": ""}}],
  "event_offset": 12, "completed_at": "2026-01-01T00:01:00Z", "completion_reason": "Completed 1 iterations (max: 1)"
}`

func TestReadBash(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "demo")
	testkit.OK(t, d.Replace(store.StateFile, []byte(ofBash)))
	got := testkit.Must(statefile.Read(d))
	want := statefile.Document{
		Head: statefile.Head{
			Session: "demo", Type: "loop", StartedAt: "2026-01-01T00:00:00Z", Status: "completed",
			Iteration: 1, IterationCompleted: 1, Stages: []statefile.Stage{},
		},
		History: []statefile.Iteration{{
			Iteration: 1, Timestamp: "2026-01-01T00:01:00Z", Stage: "tick", Decision: "continue", Summary: "one",
			FilesTouched: []string{"a"}, ItemsCompleted: []string{},
		}},
		Tail: statefile.Tail{EventOffset: 12, CompletedAt: "2026-01-01T00:01:00Z", CompletionReason: "Completed 1 iterations (max: 1)"},
	}
	want.History[0].Signals.Risk = "low"
	testkit.Equal(t, want, got)
}

func TestReadTolerates(t *testing.T) {
	tests := map[string]struct {
		text    string
		status  string
		message string // of the error member
		corrupt bool
	}{
		"nothing known":        {`{"later":[1,{"a":2}]}`, "", "", false},
		"wrong types":          {`{"status":"failed","iteration":"two","stages":{"a":1},"history":7,"scheduler":"x","error":[]}`, "failed", "", false},
		"error as an object":   {`{"status":"failed","error":{"type":"t","message":"m","timestamp":"x"}}`, "failed", "m", false},
		"error as text":        {`{"error":"Exit code 7","status":"failed"}`, "failed", "Exit code 7", false},
		"members twice":        {`{"status":"running","status":"paused"}`, "paused", "", false},
		"cut in the history":   {ofBash[:len(ofBash)*2/3], "completed", "", true},
		"cut before the brace": {`{"status":"running"`, "running", "", true},
		"empty":                {``, "", "", true},
		"a list":               {`[]`, "", "", true},
		"no JSON":              {`hello`, "", "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, d := testkit.Session(t, t.TempDir(), "s")
			testkit.OK(t, d.Replace(store.StateFile, []byte(tt.text)))
			got, err := statefile.Read(d)
			if corrupt := failure.KindOf(err) == failure.StateCorrupt; corrupt != tt.corrupt || !corrupt && err != nil {
				t.Errorf("error %v", err)
			}
			message := ""
			if got.Error != nil {
				message = got.Error.Message
			}
			if got.Status != tt.status || message != tt.message {
				t.Errorf("status %q, error %q", got.Status, message)
			}
		})
	}
	_, d := testkit.Session(t, t.TempDir(), "s")
	if _, err := statefile.Read(d); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestReadHead(t *testing.T) {
	p, d := testkit.Session(t, t.TempDir(), "s")
	for text, want := range map[string]struct {
		stage   string
		status  string
		corrupt bool
	}{
		ofBash: {"", "completed", false},
		`{"status":"running","current_stage":1,"stages":[{"index":0,"name":"x"},{"index":1,"name":"y"}],"history":` + "garbage": {"y", "running", false},
		"no JSON": {"", "", true},
	} {
		testkit.OK(t, d.Replace(store.StateFile, []byte(text)))
		got, err := statefile.ReadHead(p, "s")
		if corrupt := failure.KindOf(err) == failure.StateCorrupt; corrupt != want.corrupt || got.Status != want.status || got.StageName() != want.stage {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(ofBash)
	f.Add(`{"scheduler":{"nodes":{"0":{"loop":{"phase":"x"}}}},"status":"complete","error":"x","stages":[{"index":-1}]}`)
	f.Add(`{"a":1,"a":`)
	f.Fuzz(func(t *testing.T, text string) {
		p, d := testkit.Session(t, t.TempDir(), "s")
		testkit.OK(t, d.Replace(store.StateFile, []byte(text)))
		got, err := statefile.Read(d)
		if got.Status == "complete" {
			t.Error("Bash's word was kept")
		}
		if _, headErr := statefile.ReadHead(p, "s"); err == nil && headErr != nil {
			t.Errorf("the file was read, its head was not: %v", headErr)
		}
	})
}
