package attempt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/exchange"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// DIALECT: each attempt reads the prompt from the plan's file, relative to the project. A missing file is an error
// with a hint.
func TestPromptFile(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "prompt.md")
	for _, tt := range []struct{ name, path string }{{"of the project", "prompts/build.md"}, {"of the user", elsewhere}} {
		t.Run(tt.name, func(t *testing.T) {
			var prompt string
			b := newFixture(t, working(func(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) {
				prompt = req.Prompt
			}))
			b.node.Prompt, b.node.PromptPath = "", tt.path
			file := tt.path
			if !filepath.IsAbs(file) {
				file = filepath.Join(b.root, file)
			}
			d := b.failure(b.run(t.Context(), 1, 1))
			if d.ErrorType != string(failure.ConfigInvalid) || !strings.Contains(d.Message, file) || !strings.Contains(d.Remedy, "restore this file") {
				t.Errorf("without the file: %+v", d)
			}
			testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("iteration ${ITERATION} of ${SESSION}"), 0o644)))
			if e := b.run(t.Context(), 2, 1); e.Type != event.IterationComplete || prompt != "iteration 2 of demo" {
				t.Errorf("%s %s, prompt %q", e.Type, e.Data, prompt)
			}
		})
	}
}

// U101: the agent's stderr is kept in the attempt's directory, and its end explains a missing result.
func TestDiagnosticsAreKept(t *testing.T) {
	b := newFixture(t, func(_ context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		x.Output(sdk.OutputChunk{Stream: sdk.StreamStderr, Text: "the disk of the agent is full\n"})
		return sdk.ExecuteResult{ExitCode: 9}, nil
	})
	d := b.failure(b.run(t.Context(), 1, 1))
	if d.ErrorType != string(failure.ProviderFailed) || d.ExitCode == nil || *d.ExitCode != 9 || d.Detail != "the disk of the agent is full\n" {
		t.Errorf("failure %+v", d)
	}
	if got := b.read("iterations/001/attempts/01/stderr.txt"); got != "the disk of the agent is full\n" {
		t.Errorf("stderr.txt %q", got)
	}
}

// U182: the usage reports count if the attempt failed before its provider returned a total.
func TestUsageReportsOfFailedAttempt(t *testing.T) {
	tokens := int64(7)
	var live *sdk.Usage
	b := newFixture(t, func(_ context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		x.Usage(sdk.Usage{OutputTokens: &tokens})
		return sdk.ExecuteResult{}, failure.New(failure.ProviderCrashed, "gone")
	})
	b.maker.Live = func(r exchange.Report) { live = r.Usage }
	d := b.failure(b.run(t.Context(), 1, 1))
	testkit.Equal(t, &event.Usage{OutputTokens: &tokens}, d.Usage)
	if live == nil || *live.OutputTokens != tokens {
		t.Errorf("live usage %+v", live)
	}
}

// A call whose intent cannot be recorded gets no verdict. Failures to record results and observed calls do not fail
// the attempt.
func TestJournalThatRefuses(t *testing.T) {
	full := errors.New("no space left")
	b := newFixture(t, working(func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) {
		if _, err := x.Call(ctx, sdk.ToolCall{CallID: "1", Tool: "pay", Effect: sdk.EffectOnce}); !errors.Is(err, full) {
			t.Errorf("call: %v", err)
		}
		if err := x.Checkpoint(ctx, sdk.Checkpoint{Turn: 1, Blob: []byte("m")}); !errors.Is(err, full) {
			t.Errorf("checkpoint: %v", err)
		}
		x.Result(sdk.ToolResult{CallID: "1", Status: sdk.ToolSuccess})
		x.Observe(sdk.ToolCall{CallID: "2", Tool: "read"})
		x.ObserveResult(sdk.ToolResult{CallID: "2", Status: sdk.ToolSuccess})
	}))
	at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}
	job := kernel.EffectRequest{Node: b.node, State: b.state, Record: func(context.Context, event.Event) error { return full }}
	job.Command.Location, job.Command.Key, job.Command.Attempt = at, at.Key(event.KeyAttempt, 1), 1
	if e := b.maker.Run(t.Context(), job); e.Type != event.IterationComplete {
		t.Errorf("%s %s", e.Type, e.Data)
	}
}

// U177: a missing checkpoint, or a missing file of a tool call, fails a resumed attempt before the agent starts.
func TestMissingCheckpoint(t *testing.T) {
	ref := event.Ref{Path: "stage-00-build/gone", Size: 3, SHA256: strings.Repeat("0", 64)}
	paid := state.Call{Call: event.ToolCallData{CallID: "1", Tool: "pay", Verdict: "run"}}
	for name, change := range map[string]func(*state.Loop){
		"the checkpoint": func(l *state.Loop) { l.Checkpoint = &event.CheckpointData{Turn: 1, Blob: ref} },
		"arguments": func(l *state.Loop) {
			c := paid
			c.Call.ArgsRef = &ref
			l.Calls = []state.Call{c}
		},
		"a result": func(l *state.Loop) {
			c := paid
			c.Result = &event.ToolResultData{CallID: "1", Status: "success", ResultRef: &ref}
			l.Calls = []state.Call{c}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
				t.Error("the agent was started")
				return sdk.ExecuteResult{}, nil
			})
			n := b.state.Nodes["0"]
			change(&n.Loop)
			b.state.Nodes["0"] = n
			if d := b.failure(b.run(t.Context(), 1, 1)); !strings.Contains(d.Message, "stage-00-build/gone") {
				t.Errorf("failure %+v", d)
			}
		})
	}
}

// A foreign file at a path of the engine fails the attempt with an error that names the path.
func TestOccupiedPaths(t *testing.T) {
	const session = ".claude/pipeline-runs/demo/"
	for _, tt := range []struct {
		name, occupied string // by a directory, or by a file
		file           bool
		output         string
	}{
		{name: "the iterations", occupied: session + "stage-00-build", file: true},
		{name: "context.json", occupied: session + "stage-00-build/iterations/001/context.json"},
		{name: "the list of attempts", occupied: session + "stage-00-build/iterations/001/attempts.jsonl"},
		{name: "the stage's output", occupied: session + "stage-00-build/run-0.md"},
		{name: "output_path", occupied: "docs", file: true, output: "docs/out.md"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t, resultWriter(`{"summary":"s"}`))
			b.node.OutputPath = tt.output
			path := filepath.Join(b.root, filepath.FromSlash(tt.occupied))
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			if tt.file {
				err = errors.Join(err, os.WriteFile(path, nil, 0o644))
			} else {
				err = errors.Join(err, os.MkdirAll(filepath.Join(path, "occupied"), 0o755))
			}
			testkit.OK(t, err)
			if d := b.failure(b.run(t.Context(), 1, 1)); !strings.Contains(d.Message, filepath.Base(tt.occupied)) || d.Node != "build" {
				t.Errorf("failure %+v", d)
			}
		})
	}
}

// A stream that cannot be written does not fail an attempt with a result.
func TestStreamThatCannotBeKept(t *testing.T) {
	b := newFixture(t, resultWriter(`{"summary":"s"}`))
	taken := filepath.Join(b.root, ".claude/pipeline-runs/demo/stage-00-build/iterations/001/attempts/01/stream.jsonl/occupied")
	testkit.OK(t, os.MkdirAll(taken, 0o755))
	if e := b.run(t.Context(), 1, 1); e.Type != event.IterationComplete {
		t.Errorf("got %s %s", e.Type, e.Data)
	}
}
