package mock

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The texts of the Bash engine's mock mode, which scripts and recorded runs rely on.
const (
	bashText = `Mock response - no fixture found.

Completed mock iteration.

## Status
Written to result.json with plateau_suspected: false
`
	bashResult = `{"summary":"Mock iteration 1 completed","work":{"items_completed":[],"files_touched":[]},` +
		`"artifacts":{"outputs":[],"paths":[]},"signals":{"plateau_suspected":false,"risk":"low","notes":"Mock execution - more work simulated"}}`
)

func TestFixtures(t *testing.T) {
	status := `{"decision":"continue","reason":"keep going","summary":"s","work":{"items_completed":["i-1"],"files_touched":["a.txt"]},"errors":[]}`
	tests := []struct {
		name      string
		iteration int
		files     map[string]string
		text      string
		result    string
		status    string
	}{
		{name: "none", iteration: 1, text: bashText, result: bashResult},
		{
			name: "text of the iteration", iteration: 2, text: "two\n", result: "r2",
			files: map[string]string{"iteration-2.txt": "two\n", "default.txt": "d", "result-2.json": "r2", "result.json": "r"},
		},
		{
			name: "defaults", iteration: 2, text: "d", result: "r",
			files: map[string]string{"iteration-1.txt": "one", "default.txt": "d", "result-1.json": "r1", "result.json": "r", "status-2.json": status},
		},
		{
			name: "status of the iteration", iteration: 3, text: bashText, status: status,
			files: map[string]string{"status-3.json": status, "status.json": "{}", "result-2.json": "r2"},
		},
		{name: "any status", iteration: 4, text: bashText, status: status, files: map[string]string{"status.json": status}},
		{name: "empty text", iteration: 1, text: "", result: "r", files: map[string]string{"default.txt": "", "result.json": "r"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, "")
			tr.write(t, "fixtures/README", "")
			for name, text := range tt.files {
				tr.write(t, "fixtures/"+name, text)
			}
			tr.env[envFixtures] = "fixtures"
			tr.req.Iteration = tt.iteration
			result := must(tr.execute(t.Context()))
			want := []string{tt.text, tt.text, tt.result, tt.status}
			got := []string{result.Output, tr.received.Text, tr.file(t, "result.json"), tr.file(t, "status.json")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output, text, result, status (-want +got)\n%s", diff)
			}
		})
	}
}

func TestStatusIsConvertedForAResultPath(t *testing.T) {
	tests := []struct{ name, status, want string }{
		{
			"continue", `{"decision":"continue","reason":"more","summary":"s","work":{"items_completed":["i"],"files_touched":["f"]},"errors":[]}`,
			`{"summary":"s","work":{"items_completed":["i"],"files_touched":["f"]},"artifacts":{"outputs":[],"paths":[]},"signals":{"plateau_suspected":false,"risk":"low","notes":"more"}}`,
		},
		{
			"stop", `{"decision":"stop","summary":"s"}`,
			`{"summary":"s","work":{"items_completed":[],"files_touched":[]},"artifacts":{"outputs":[],"paths":[]},"signals":{"plateau_suspected":true,"risk":"low","notes":""}}`,
		},
		{
			"error", `{"decision":"error","reason":"stuck"}`,
			`{"summary":"","work":{"items_completed":[],"files_touched":[]},"artifacts":{"outputs":[],"paths":[]},"signals":{"plateau_suspected":false,"risk":"high","notes":"stuck"}}`,
		},
		{
			"errors", `{"decision":"continue","errors":["first","second"]}`,
			`{"summary":"","work":{"items_completed":[],"files_touched":[]},"artifacts":{"outputs":[],"paths":[]},"signals":{"plateau_suspected":false,"risk":"high","notes":"first"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[{"status":`+tt.status+`}]}`)
			tr.req.Paths.Status = ""
			if _, err := tr.execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			compare(t, tt.want, tr.file(t, "result.json"))
		})
	}
}

func TestUnusableFixtures(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		dir   string
	}{
		{name: "no such directory", dir: "missing"},
		{name: "a file", dir: "file", files: map[string]string{"file": ""}},
		{name: "a directory in the place of a text", dir: "f", files: map[string]string{"f/default.txt/x": ""}},
		{name: "a directory in the place of a result", dir: "f", files: map[string]string{"f/result.json/x": ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, "")
			tr.env[envFixtures] = tt.dir
			for name, text := range tt.files {
				tr.write(t, name, text)
			}
			if _, err := tr.execute(t.Context()); failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNoFileIsWritten(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fixture)
	}{
		{"a question", func(tr *fixture) { tr.req.Purpose = "question" }},
		{"no paths", func(tr *fixture) { tr.req.Paths.Result, tr.req.Paths.Status = "", "" }},
		{"no_result", func(tr *fixture) { tr.req.Config = []byte(`{"replies":[{"no_result":true}]}`) }},
		{"a failure", func(tr *fixture) { tr.req.Config = []byte(`{"replies":[{"failure":{}}]}`) }},
		{"an exit code", func(tr *fixture) { tr.req.Config = []byte(`{"replies":[{"exit_code":3}]}`) }},
		{"an outcome", func(tr *fixture) { tr.req.Config = []byte(`{"replies":[{"outcome":"empty"}]}`) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, "")
			tt.change(tr)
			_, err := tr.execute(t.Context())
			if err != nil && failure.KindOf(err) != failure.ProviderFailed {
				t.Fatal(err)
			}
			if tr.received.Text != bashText {
				t.Errorf("output %q", tr.received.Text)
			}
			if got := tr.file(t, "result.json") + tr.file(t, "status.json"); got != "" {
				t.Errorf("wrote %s", got)
			}
		})
	}
}
