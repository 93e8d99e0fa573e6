package e2ereal

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Checks of the files of the sessions in sessionScenarios.

func ralphDone(t *testing.T, w world) {
	t.Helper()
	w.assertFile(t, "done.txt", "thing 1\nthing 2\nthing 3\n")
	w.assertOutputs(t, map[string]string{
		"stage-00-ralph/iterations/001": "Thing 1 is done.", "stage-00-ralph/iterations/002": "Thing 2 is done.",
		"stage-00-ralph/iterations/003": "Thing 3 is done.",
	})
	var loops []struct{ Session, Type, Status string }
	readJSON(t, filepath.Join(w.project, ".claude/loop-completions.json"), &loops)
	if len(loops) != 1 || loops[0].Session != session || loops[0].Type != "ralph" || loops[0].Status != "complete" {
		t.Errorf("loop-completions.json: %+v", loops)
	}
}

func refined(t *testing.T, w world) {
	t.Helper()
	w.assertOutputs(t, map[string]string{
		"stage-00-improve/iterations/001": "A plan of one step.", "stage-00-improve/iterations/002": "A plan of two steps.",
		"stage-01-tasks/iterations/001": "Two tasks.",
	})
}

// judged returns a check of a judged session: the last iteration has last attempts, each other iteration one. The judge
// was called once after each iteration, and up to repeated times more where a kill interrupted a call.
func judged(last, repeated int) func(*testing.T, world) {
	return func(t *testing.T, w world) {
		t.Helper()
		w.assertOutputs(t, map[string]string{
			"stage-00-polish/iterations/001": "Shorter.", "stage-00-polish/iterations/002": "Clearer.",
			"stage-00-polish/iterations/003": "Clear.", "stage-00-polish/iterations/004": "Still clear.",
		})
		w.assertAttempts(t, map[string]int{
			"stage-00-polish/iterations/001": 1, "stage-00-polish/iterations/002": 1,
			"stage-00-polish/iterations/003": 1, "stage-00-polish/iterations/004": last,
		})
		w.assertEvents(t, map[string]int{"judge_complete": 4, "iteration_complete": 4})
		if n := w.countEvents(t, "judge_start"); n < 4 || n > 4+repeated {
			t.Errorf("events.jsonl has %d events judge_start, want 4 to %d", n, 4+repeated)
		}
		var judge struct {
			Stop   bool
			Reason string
		}
		readJSON(t, filepath.Join(w.project, sessionDir, "stage-00-polish/iterations/004/judge.json"), &judge)
		if !judge.Stop || judge.Reason != "Nothing is left." {
			t.Errorf("judge.json: %+v", judge)
		}
	}
}

const (
	think  = "parallel-00-think/providers/"
	answer = "parallel-01-answer/providers/"
)

// debated returns a check of the attempts at Claude Code's thought and at Codex's reply; the other stages had one
// attempt. For its reply each agent received only the other's thought, and the last stage received all thoughts and
// replies.
func debated(thought, reply int) func(*testing.T, world) {
	return func(t *testing.T, w world) {
		t.Helper()
		w.assertOutputs(t, map[string]string{
			think + "claude/stage-00-thought/iterations/001": "Claude likes tabs.", think + "codex/stage-00-thought/iterations/001": "Codex likes spaces.",
			answer + "claude/stage-00-reply/iterations/001": "Claude stays with tabs.", answer + "codex/stage-00-reply/iterations/001": "Codex gives in.",
			"stage-02-sum/iterations/001": "Tabs it is.",
		})
		w.assertAttempts(t, map[string]int{
			think + "claude/stage-00-thought/iterations/001": thought, think + "codex/stage-00-thought/iterations/001": 1,
			answer + "claude/stage-00-reply/iterations/001": 1, answer + "codex/stage-00-reply/iterations/001": reply,
			"stage-02-sum/iterations/001": 1,
		})
		w.assertEvents(t, map[string]int{"parallel_provider_start": 4, "parallel_provider_complete": 4, "iteration_complete": 5})
		w.assertManifest(t, "parallel-00-think", "thought")
		w.assertManifest(t, "parallel-01-answer", "reply")
		w.assertGiven(t, answer+"claude/stage-00-reply", map[string][]string{"thought": {"codex"}})
		w.assertGiven(t, answer+"codex/stage-00-reply", map[string][]string{"thought": {"claude"}})
		w.assertGiven(t, "stage-02-sum", map[string][]string{"thought": {"claude", "codex"}, "reply": {"claude", "codex"}})
	}
}

// blockOutput returns the path of the output of a provider of the debate in a stage.
func (w world) blockOutput(stage, provider string) string {
	folder := map[string]string{"thought": think, "reply": answer}[stage]
	return filepath.Join(w.project, sessionDir, folder+provider, "stage-00-"+stage, "iterations/001/output.md")
}

// assertManifest checks that a block's manifest names the outputs of both providers in its stage.
func (w world) assertManifest(t *testing.T, block, stage string) {
	t.Helper()
	var manifest struct {
		Providers map[string]map[string]struct {
			Latest     string `json:"latest_output"`
			Iterations int
		}
	}
	readJSON(t, filepath.Join(w.project, sessionDir, block, "manifest.json"), &manifest)
	got := map[string]string{}
	for provider, stages := range manifest.Providers {
		for name, left := range stages {
			got[fmt.Sprintf("%s, %s, %d", provider, name, left.Iterations)] = left.Latest
		}
	}
	want := map[string]string{"claude, " + stage + ", 1": w.blockOutput(stage, "claude"), "codex, " + stage + ", 1": w.blockOutput(stage, "codex")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s/manifest.json (-want +got):\n%s", block, diff)
	}
}

// source is a context's entry of one source of from_parallel.
type source struct {
	Stage     string
	Providers map[string]struct{ Output string }
}

// assertGiven checks the inputs of the first iteration of a stage. want maps stages to the providers whose outputs
// there are the inputs; there are no other inputs.
func (w world) assertGiven(t *testing.T, stage string, want map[string][]string) {
	t.Helper()
	var context struct {
		Inputs struct {
			FromStage    map[string]any  `json:"from_stage"`
			FromInitial  []string        `json:"from_initial"`
			FromParallel json.RawMessage `json:"from_parallel"`
		}
	}
	readJSON(t, filepath.Join(w.project, sessionDir, stage, "iterations/001/context.json"), &context)
	var sources []source
	if err := json.Unmarshal(context.Inputs.FromParallel, &sources); err != nil { // one source is not a list
		sources = make([]source, 1)
		if err := json.Unmarshal(context.Inputs.FromParallel, &sources[0]); err != nil {
			t.Errorf("%s: from_parallel is %s", stage, context.Inputs.FromParallel)
		}
	}
	got := map[string][]string{}
	for _, from := range sources {
		got[from.Stage] = slices.Sorted(maps.Keys(from.Providers))
		for provider, left := range from.Providers {
			if path := w.blockOutput(from.Stage, provider); left.Output != path {
				t.Errorf("%s was given %s, want %s", stage, left.Output, path)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(context.Inputs.FromStage)+len(context.Inputs.FromInitial) > 0 {
		t.Errorf("%s was given %+v (-want +got):\n%s", stage, context.Inputs, diff)
	}
}

// assertAttempts checks the numbers of attempts that were begun, by iteration.
func (w world) assertAttempts(t *testing.T, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for iteration := range want {
		got[iteration] = w.attempts(t, filepath.Join(w.project, sessionDir, iteration))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempts that were begun (-want +got):\n%s", diff)
	}
}

// assertEvents checks the numbers of events in the journal, by type.
func (w world) assertEvents(t *testing.T, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for name := range want {
		got[name] = w.countEvents(t, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events.jsonl (-want +got):\n%s", diff)
	}
}

// countEvents returns the number of events of a type in the journal.
func (w world) countEvents(t *testing.T, name string) int {
	t.Helper()
	return strings.Count(content(t, filepath.Join(w.root, journalFile)), fmt.Sprintf(`"type":%q`, name))
}

// assertOutputs checks that the session has exactly these iterations, by directory, with their outputs. The summary
// of each result equals the output.
func (w world) assertOutputs(t *testing.T, want map[string]string) {
	t.Helper()
	dir := filepath.Join(w.project, sessionDir)
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(filepath.Dir(path)) != "iterations" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		got[name] = strings.TrimSpace(content(t, filepath.Join(path, "output.md")))
		var result struct{ Summary string }
		if text, fault := os.ReadFile(filepath.Join(path, "result.json")); fault != nil || json.Unmarshal(text, &result) != nil || result.Summary != got[name] {
			t.Errorf("%s: result %s, error %v, want the words of the output", name, text, fault)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}
