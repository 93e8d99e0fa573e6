package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// After a crash, a repeated attempt without output has no output file. Later iterations would otherwise read the
// output of the earlier attempt.
func TestOutputOfEarlierAttemptIsArchived(t *testing.T) {
	b := newFixture(t, working(func(_ context.Context, _ sdk.ExecuteRequest, _ sdk.Exchange) {
	}))
	testkit.Must(b.maker.Dir.Write("stage-00-build/iterations/001/output.md", []byte("of the attempt cut off\n")))
	if e := b.run(t.Context(), 1, 1); e.Type != event.IterationComplete {
		t.Fatalf("%s %s", e.Type, e.Data)
	}
	if _, err := b.maker.Dir.Stat("stage-00-build/iterations/001/output.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("output.md: %v, want none", err)
	}
}

// U135: a directory, a link or a large file at the path of the result is an invalid result, and does not prevent the
// next attempt.
func TestInvalidResultFiles(t *testing.T) {
	tests := []struct {
		name string
		put  func(path string) error
	}{
		{"a directory", func(path string) error { return os.Mkdir(path, 0o755) }},
		{"a link that leads out", func(path string) error { return os.Symlink("/etc/hostname", path) }},
		{"too large", func(path string) error { return os.WriteFile(path, make([]byte, result.MaxBytes+1), 0o644) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t, func(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
				if req.Attempt == 1 {
					return sdk.ExecuteResult{}, tt.put(req.Paths.Result)
				}
				return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"s"}`), 0o644)
			})
			if d := b.failure(b.run(t.Context(), 1, 1)); d.ErrorType != string(failure.ResultInvalid) || d.Retryable {
				t.Errorf("first attempt: %+v", d)
			}
			if e := b.run(t.Context(), 1, 2); e.Type != event.IterationComplete {
				t.Errorf("second attempt: %s %s", e.Type, e.Data)
			}
		})
	}
}

// U092: the engine's own copy of the previous iteration's output never counts as the agent's file.
func TestOutputPathFollowsQuickIterations(t *testing.T) {
	b := newFixture(t, working(func(_ context.Context, req sdk.ExecuteRequest, x sdk.Exchange) {
		x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: strings.Repeat("x", req.Iteration)})
	}))
	b.node.OutputPath = "out.md"
	for i, want := range []string{"x\n", "xx\n"} {
		b.run(t.Context(), i+1, 1)
		if got, err := os.ReadFile(filepath.Join(b.root, "out.md")); err != nil || string(got) != want {
			t.Errorf("after iteration %d: %q, %v", i+1, got, err)
		}
	}
}

// An attempt repeated after a crash shares its directory with the interrupted attempt, and does not change files of
// the interrupted attempt.
func TestBlobsAreNotWrittenOver(t *testing.T) {
	args := ""
	b := newFixture(t, func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		_, err := x.Call(ctx, sdk.ToolCall{CallID: args[:1], Tool: "pay", Args: json.RawMessage(`"` + args + `"`)})
		return sdk.ExecuteResult{}, errors.Join(err, x.Checkpoint(ctx, sdk.Checkpoint{Turn: 1, Blob: []byte(args)}))
	})
	for _, letter := range []string{"a", "b"} {
		args = strings.Repeat(letter, maxInline)
		b.run(t.Context(), 1, 1)
	}
	for _, e := range b.records.events {
		call, err := event.Decode[event.ToolCallData](e)
		if err == nil && e.Type == event.ToolCall {
			_, err = b.maker.Dir.ReadRef(*call.ArgsRef)
		}
		checkpoint, _ := event.Decode[event.CheckpointData](e)
		if e.Type == event.Checkpoint {
			_, err = b.maker.Dir.ReadRef(checkpoint.Blob)
		}
		if err != nil {
			t.Errorf("%s: %v", e.Type, err)
		}
	}
	if len(b.records.events) != 4 { // two of each attempt
		t.Errorf("%d events, want 4", len(b.records.events))
	}
}

// U223: an attempt's event fits into a line for any length and escaping of the agent's texts. A longer line would end
// the run and every resume of it.
func TestLongTextsFitIntoALine(t *testing.T) {
	long := strings.Repeat("<\x00\"é\n", 20<<10)
	list := strings.Split(strings.Repeat(strings.Repeat("<", 500)+",", 500), ",")
	text := testkit.Must(json.Marshal(map[string]any{
		"summary": long, "decision": "stop", "work": map[string]any{"items_completed": list, "files_touched": list},
		"signals": map[string]any{"risk": long, "notes": long},
	}))
	for _, tt := range []struct {
		name string
		work agent
		want event.Type
	}{
		{"result", func(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
			return sdk.ExecuteResult{Model: long, AgentVersion: long}, os.WriteFile(req.Paths.Result, text, 0o644)
		}, event.IterationComplete},
		{"failure", func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
			return sdk.ExecuteResult{}, failure.New(failure.ProviderFailed, "%s", long).WithHint("%s", long).WithDetail(long)
		}, event.Error},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t, tt.work)
			e := b.run(t.Context(), 1, 1)
			if e.Type != tt.want {
				t.Fatalf("%s %s", e.Type, e.Data)
			}
			e.Session, e.RunID, e.Seq = strings.Repeat("s", 64), "PL-20260102030405-00000001", 1<<40
			if _, err := e.AppendLine(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// A pipeline's stage has an empty output file while the agent runs, as in the Bash engine.
func TestOutputOfTheStageBeginsEmpty(t *testing.T) {
	name := "stage-00-build/run-0.md"
	var during []byte
	var b *fixture
	b = newFixture(t, func(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
		var err error
		during, err = b.maker.Dir.Read(name, 100)
		return sdk.ExecuteResult{Output: "said"}, errors.Join(err, os.WriteFile(req.Paths.Result, []byte(`{"summary":"s"}`), 0o644))
	})
	testkit.Must(b.maker.Dir.Write(name, []byte("of an earlier run\n")))
	b.run(t.Context(), 1, 1)
	after, err := b.maker.Dir.Read(name, 100)
	if err != nil || len(during) != 0 || string(after) != "said\n" {
		t.Errorf("during %q, after %q, %v", during, after, err)
	}
}
