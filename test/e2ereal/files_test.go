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
)

// checkLetter returns a check of the files of the letter's two stages, of their results and of their usages.
func checkLetter(usages ...usage) func(*testing.T, world) {
	return func(t *testing.T, w world) {
		t.Helper()
		w.assertLetter(t)
		counted := w.usages(t)
		for _, want := range usages {
			if !counted[want] {
				t.Errorf("events.jsonl: no usage %+v among %+v", want, counted)
			}
		}
	}
}

// killedLetter checks that the stage that was complete before the kill was not repeated, and that the second one was.
func killedLetter(t *testing.T, w world) {
	t.Helper()
	w.assertLetter(t)
	for stage, want := range map[string]int{"stage-00-greet": 1, "stage-01-check": 2} {
		if got := w.attempts(t, filepath.Join(w.project, sessionDir, stage, "iterations", "001")); got != want {
			t.Errorf("%s: %d attempts were begun, want %d", stage, got, want)
		}
	}
}

func (w world) assertLetter(t *testing.T) {
	t.Helper()
	w.assertFile(t, "greeting.txt", "Hello from the first stage.\n")
	w.assertFile(t, "copy.txt", "Hello from the first stage.\n")
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
}

// attempts counts the attempts of an iteration that were begun.
func (w world) attempts(t *testing.T, iteration string) int {
	t.Helper()
	begun := 0
	for line := range strings.Lines(content(t, filepath.Join(iteration, "attempts.jsonl"))) {
		var attempt struct{ Status string }
		if err := json.Unmarshal([]byte(line), &attempt); err != nil {
			t.Errorf("attempts.jsonl: %v in %s", err, line)
		}
		if attempt.Status == "running" {
			begun++
		}
	}
	return begun
}

// usage is the sum of an attempt, with the names of the journal.
type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_tokens"`
	CacheWrite int `json:"cache_write_tokens"`
}

// usages returns every usage in the journal's events.
func (w world) usages(t *testing.T) map[usage]bool {
	t.Helper()
	found := map[usage]bool{}
	for line := range strings.Lines(content(t, filepath.Join(w.project, sessionDir, "events.jsonl"))) {
		var event any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Errorf("events.jsonl: %v in %s", err, line)
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

// assertKeyNowhere checks that no file below .claude contains the API key.
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
		t.Errorf("inspected %d files, error %v", files, err)
	}
}

// await waits until a file of the world contains the text.
func (w world) await(t *testing.T, name, text string) {
	t.Helper()
	w.awaitCount(t, name, text, 1)
}

// awaitCount waits until a file contains the text count times. Its time limit only ends a broken test.
func (w world) awaitCount(t *testing.T, name, text string, count int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got, err := os.ReadFile(filepath.Join(w.root, name))
		if err == nil && strings.Count(string(got), text) >= count {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %q in %s: %v\n%s", text, name, err, got)
		}
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
