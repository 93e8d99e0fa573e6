//go:build e2ereal

package e2ereal

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// sessionDir is where the command keeps the session that the tests start, seen from the project.
const sessionDir = ".claude/pipeline-runs/demo"

// TestRealPipeline runs a pipeline of two stages as a user does. In the first the agent's own tool
// writes a file and its result, in the second it reads the file; see testdata/letter.script.json.
func TestRealPipeline(t *testing.T) {
	w, stub := newWorld(t), stubmodel.Start(t)
	script := letter(t, w)
	if err := stub.SetScript("letter", script); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(w.project, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	got := w.run(t, command{
		path: binary(t), args: []string{"pipeline", "letter", "demo", "--foreground"},
		env: w.environment(stub.Base("letter")), limit: 3 * time.Minute,
	})
	if got.code != 0 {
		t.Errorf("exit code %d", got.code)
	}
	w.assertNoProcess(t)
	w.assertFile(t, "greeting.txt", "Hello from the first stage.\n")
	w.assertFile(t, "copy.txt", "Hello from the first stage.\n")
	w.assertSession(t)
	w.assertKeyNowhere(t)
	assertAsked(t, stub, len(script.Turns))
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", got.stdout, got.stderr)
	}
}

// letter is the script of the run.
func letter(t *testing.T, w world) stubmodel.Script {
	t.Helper()
	text, err := os.ReadFile("testdata/letter.script.json")
	if err != nil {
		t.Fatal(err)
	}
	script, err := stubmodel.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	script.Vars["project"] = w.project
	return script
}

// binary is the command under test.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("AGENT_PIPELINES_BIN")
	if path == "" {
		path = filepath.Join("..", "..", "bin", "agent-pipelines")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: build it (make build) or set AGENT_PIPELINES_BIN", err)
	}
	return path
}

// assertSession looks at what the session left: its state, the results, the tokens in its events.
func (w world) assertSession(t *testing.T) {
	t.Helper()
	dir := filepath.Join(w.project, sessionDir)
	var state struct{ Status string }
	readJSON(t, filepath.Join(dir, "state.json"), &state)
	if state.Status != "completed" {
		t.Errorf("state.json: status %q, want completed", state.Status)
	}
	summaries := map[string]string{}
	for _, stage := range []string{"stage-00-greet", "stage-01-check"} {
		var result struct{ Summary string }
		readJSON(t, filepath.Join(dir, stage, "iterations", "001", "result.json"), &result)
		summaries[stage] = result.Summary
	}
	want := map[string]string{"stage-00-greet": "Wrote greeting.txt", "stage-01-check": "greeting.txt greets as it should"}
	if diff := cmp.Diff(want, summaries); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	counted := usages(t, filepath.Join(dir, "events.jsonl"))
	for _, want := range []usage{{3300, 110, 200, 30}, {930, 48, 0, 0}} {
		if !counted[want] {
			t.Errorf("events.jsonl: no usage %+v among %+v", want, counted)
		}
	}
}

// usage is the sum of an attempt, in the words of the journal.
type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_tokens"`
	CacheWrite int `json:"cache_write_tokens"`
}

// usages finds every usage in a journal, wherever it stands in an event.
func usages(t *testing.T, journal string) map[usage]bool {
	t.Helper()
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Error(err)
	}
	found := map[usage]bool{}
	for line := range bytes.Lines(text) {
		var event any
		if err := json.Unmarshal(line, &event); err != nil {
			t.Errorf("%s: %v in %s", journal, err, line)
		}
		collect(event, found)
	}
	return found
}

func collect(value any, found map[usage]bool) {
	switch v := value.(type) {
	case []any:
		for _, member := range v {
			collect(member, found)
		}
	case map[string]any:
		if _, ok := v["input_tokens"]; ok {
			count := func(key string) int { n, _ := v[key].(float64); return int(n) }
			found[usage{count("input_tokens"), count("output_tokens"), count("cache_read_tokens"), count("cache_write_tokens")}] = true
		}
		for _, member := range v {
			collect(member, found)
		}
	}
}

// assertAsked: every turn was used, in order, by the model that the pipeline names, and each prompt
// came as the stage's file has it. What else a request must contain, the script itself demands.
func assertAsked(t *testing.T, stub *stubmodel.Server, turns int) {
	t.Helper()
	if faults := stub.Faults(""); faults != nil {
		t.Errorf("unexpected requests:\n%s", strings.Join(faults, "\n"))
	}
	asked := stub.Requests("letter")
	var got, want []int
	for _, r := range asked {
		got = append(got, r.Turn)
		if !strings.HasPrefix(r.Model, "claude-sonnet-") || r.Headers.Get("X-Api-Key") != apiKey {
			t.Errorf("request %d: model %q, key %q", r.N, r.Model, r.Headers.Get("X-Api-Key"))
		}
	}
	for n := range turns {
		want = append(want, n+1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turns that were used (-want +got):\n%s", diff)
		return
	}
	for stage, r := range map[string]stubmodel.Request{"greet": asked[0], "check": asked[turns-1]} {
		text, err := os.ReadFile("testdata/project/.claude/stages/" + stage + "/prompt.md")
		if err != nil {
			t.Fatal(err)
		}
		if before, _, _ := strings.Cut(string(text), "${RESULT}"); !strings.Contains(r.Prompt, before) {
			t.Errorf("stage %s: the agent did not ask with the prompt:\n%s\nbut with:\n%s", stage, before, r.Prompt)
		}
	}
}

// assertKeyNowhere: no file of the session has the key in it.
func (w world) assertKeyNowhere(t *testing.T) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(filepath.Join(w.project, ".claude"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(apiKey)) {
			t.Errorf("%s contains the API key", path)
		}
		files++
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("looked at %d files, error %v", files, err)
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
}
