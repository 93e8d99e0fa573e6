package clitest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// Streams plays recorded streams of an agent to its provider. The fake prints each <name>.jsonl
// unchanged; <name>.golden in the same directory holds the attempt's expected result and reports.
//
//	var update = flag.Bool("update", false, "rewrite the golden files")
//
//	func TestStreams(t *testing.T) {
//		clitest.Streams{
//			New: func(tb testing.TB) sdk.Provider {
//				env := clitest.CLI{Name: "claude", Version: "9.8.7 (Claude Code)"}.Environ(tb)
//				return New(func() []string { return env })
//			},
//			ExitCodes: map[string]int{"login": 1},
//			Update:    *update,
//		}.Run(t)
//	}
type Streams struct {
	// New returns the provider, which must find the fake; see [CLI.Environ].
	New func(testing.TB) sdk.Provider
	// Dir is the directory of the files. Default: "testdata".
	Dir string
	// ExitCodes maps the names of streams to the fake's exit codes. Default: 0.
	ExitCodes map[string]int
	// Update rewrites the golden files instead of comparing; pass your -update flag.
	Update bool
}

// Run plays each stream as a subtest. A directory without streams fails.
func (s Streams) Run(t *testing.T) {
	t.Helper()
	dir := s.Dir
	if dir == "" {
		dir = "testdata"
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in %s (%v)", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) { s.play(t, file, s.ExitCodes[name]) })
	}
	for name := range s.ExitCodes {
		if _, err := os.Stat(filepath.Join(dir, name+".jsonl")); err != nil {
			t.Errorf("an exit code for a stream that is not there: %v", err)
		}
	}
}

func (s Streams) play(t *testing.T, file string, exit int) {
	stream, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	x := &plugintest.Exchange{}
	req := Request(t, map[string]string{"FAKE_STREAM": stream, "FAKE_EXIT": strconv.Itoa(exit)})
	result, err := s.New(t).Execute(t.Context(), req, x)
	if err != nil {
		t.Fatal(err)
	}
	log := x.Record()
	if diff := cmp.Diff(string(raw), log.Text(sdk.StreamRaw)); diff != "" {
		t.Errorf("raw stream (-want +got):\n%s", diff)
	}
	if err := compare(strings.TrimSuffix(file, ".jsonl")+".golden", newAttempt(result, log), s.Update); err != nil {
		t.Error(err)
	}
}

// attempt holds the parts of an attempt's result and reports that a golden file contains.
type attempt struct {
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
	UsageSoFar   []sdk.Usage
}

func newAttempt(r sdk.ExecuteResult, log plugintest.Record) attempt {
	return attempt{
		Output: r.Output, Outcome: r.Outcome, Error: r.Error, ExitCode: r.ExitCode, Model: r.Model,
		AgentVersion: r.AgentVersion, Conversation: r.Conversation, Usage: r.Usage,
		Text: log.Text(sdk.StreamText), Progress: log.Progress, Observed: log.Observed, Results: log.ObservedResults,
		UsageSoFar: log.Usage,
	}
}

// compare compares an attempt with its golden file. With update it writes the file instead.
func compare(file string, got attempt, update bool) error {
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if update {
		return os.WriteFile(file, text, 0o644)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", file, diff)
	}
	return nil
}
