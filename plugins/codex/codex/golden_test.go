package codex

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// seen is everything that the kernel learns of an attempt.
type seen struct {
	Output       string
	Outcome      sdk.Outcome
	Error        *failure.Error `json:",omitempty"`
	ExitCode     int
	Model        string
	AgentVersion string
	Conversation string
	Usage        *sdk.Usage
	Text         string
	Progress     []sdk.Progress
	Observed     []sdk.ToolCall
	Results      []sdk.ToolResult
}

// TestStreams plays streams of Codex, recorded from version 0.169.0 except tools_of_docs, noise and cut.
func TestStreams(t *testing.T) {
	exits := map[string]string{
		"login": "1", "limited": "1", "quota": "1", "overloaded": "1", "no_model": "1", "context": "1", "capacity": "1", "nokey": "1", "cut": "1",
	}
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no streams", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			stream, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			x := &plugintest.Exchange{}
			result, err := fake(t).Execute(t.Context(), request(t, map[string]string{"FAKE_STREAM": stream, "FAKE_EXIT": exits[name]}), x)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(raw), x.Record().Text(sdk.StreamRaw)); diff != "" {
				t.Errorf("raw stream (-want +got):\n%s", diff)
			}
			compare(t, filepath.Join("testdata", name+".golden"), record(result, x.Record()))
		})
	}
}

func record(r sdk.ExecuteResult, log plugintest.Record) seen {
	return seen{
		Output: r.Output, Outcome: r.Outcome, Error: r.Error, ExitCode: r.ExitCode, Model: r.Model,
		AgentVersion: r.AgentVersion, Conversation: r.Conversation, Usage: r.Usage,
		Text: log.Text(sdk.StreamText), Progress: log.Progress, Observed: log.Observed, Results: log.ObservedResults,
	}
}

func compare(t *testing.T, file string, got seen) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
