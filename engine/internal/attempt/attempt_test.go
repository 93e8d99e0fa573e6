package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/exchange"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// agent is a provider that executes a test's function.
type agent func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error)

func (a agent) Describe() sdk.Component { return sdk.Component{Name: "agent"} }

func (a agent) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	return a(ctx, req, x)
}

func (a agent) Provider(context.Context, string, *plan.Node, ...string) (sdk.Provider, error) {
	return a, nil
}

// recorder keeps the recorded events.
type recorder struct {
	mu     sync.Mutex
	events []event.Event
}

func (r *recorder) record(_ context.Context, e event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return nil
}

// maxInline is the size in bytes above which arguments and results are stored in files.
const maxInline = 8 << 10

// fixture is a project with one session and a plan of one stage.
type fixture struct {
	t       *testing.T
	root    string
	maker   *Runner
	records *recorder
	person  *fakeUser
	state   state.State
	node    *plan.Node
}

func newFixture(t *testing.T, a agent) *fixture {
	t.Helper()
	root := t.TempDir()
	project, dir := testkit.Session(t, root, "demo")
	p := &plan.Plan{Pipeline: plan.Pipeline{Name: "p"}, Nodes: []plan.Node{{
		Path: "0", ID: "build", Kind: plan.KindStage, Ref: "builder", Prompt: "do it\nRESULT=${RESULT}\n${CONTEXT}",
		Context: "be brief", Termination: plan.Termination{"type": "fixed", "max": 2}, Provider: &plan.Provider{Type: "agent", Model: "m1"},
	}}}
	b := &fixture{t: t, root: root, records: &recorder{}, person: &fakeUser{}, node: &p.Nodes[0]}
	b.maker = &Runner{
		Env:       &effect.Env{Plan: p, Project: project, Dir: dir, Inputs: inputs.NewReader(dir, p), Log: hclog.NewNullLogger()},
		Providers: a, Ready: func() {},
	}
	b.state = state.State{
		Identity: state.Identity{Session: "demo", Mode: "pipeline"}, Epoch: 1, Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{
			At:    "0",
			Nodes: map[string]state.Node{"0": {NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeRunning}}},
		},
	}
	return b
}

func (b *fixture) run(ctx context.Context, iteration, attempt int) event.Event {
	at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: iteration}
	c := schedule.Command{Kind: schedule.Attempt, Key: at.Key(event.KeyAttempt, attempt), Location: at, Attempt: attempt}
	return b.maker.Run(ctx, kernel.EffectRequest{Command: c, Node: b.node, State: b.state, Record: b.records.record, Ask: b.person.ask})
}

func (b *fixture) read(name string) string {
	b.t.Helper()
	return string(testkit.Must(os.ReadFile(filepath.Join(b.root, ".claude/pipeline-runs/demo/stage-00-build", name))))
}

func (b *fixture) failure(e event.Event) event.FailureData {
	b.t.Helper()
	if e.Type != event.Error {
		b.t.Fatalf("want an error event, have %s %s", e.Type, e.Data)
	}
	return testkit.Must(event.Decode[event.FailureData](e))
}

// recorded returns the data of the recorded events of a type.
func recorded[T any](b *fixture, typ event.Type) (all []T) {
	b.t.Helper()
	b.records.mu.Lock()
	defer b.records.mu.Unlock()
	for _, e := range b.records.events {
		if e.Type == typ {
			all = append(all, testkit.Must(event.Decode[T](e)))
		}
	}
	return all
}

// resultWriter returns an agent that prints some output and writes a result.
func resultWriter(result string) agent {
	return func(_ context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "working\n"})
		x.Output(sdk.OutputChunk{Stream: sdk.StreamRaw, Text: "{\"type\":\"x\"}\n"})
		in, out := int64(10), int64(20)
		return sdk.ExecuteResult{Outcome: sdk.OutcomeSucceeded, Model: "m1-really", Usage: &sdk.Usage{InputTokens: &in, OutputTokens: &out}},
			os.WriteFile(req.Paths.Result, []byte(result), 0o644)
	}
}

// working returns an agent that executes f, and then writes a result.
func working(f func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange)) agent {
	return func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		f(ctx, req, x)
		return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"s"}`), 0o644)
	}
}

// U080, U094, U097, U098: a successful attempt writes its files and returns the completing event.
func TestAttemptCompletes(t *testing.T) {
	var got sdk.ExecuteRequest
	b := newFixture(t, nil)
	works := resultWriter(`{"summary":"done","work":{"files_touched":["a.go"]},"decision":"stop","signals":{"notes":"all of it"}}`)
	b.maker.Providers = agent(func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		got = req
		return works(ctx, req, x)
	})
	e := b.run(t.Context(), 1, 1)
	if e.Type != event.IterationComplete {
		t.Fatalf("%s %s", e.Type, e.Data)
	}
	d := testkit.Must(event.Decode[event.IterationCompleteData](e))
	in, out := int64(10), int64(20)
	want := event.IterationCompleteData{
		Decision: "continue", AgentDecision: "stop", Reason: "all of it", Stage: "build", Summary: "done", FilesTouched: []string{"a.go"},
		Signals: event.Signals{Risk: "low", Notes: "all of it"}, Model: "m1-really", Usage: &event.Usage{InputTokens: &in, OutputTokens: &out},
	}
	want.Result, want.Output, want.DurationMS = d.Result, d.Output, d.DurationMS
	testkit.Equal(t, want, d)
	if d.Result.Path != "stage-00-build/iterations/001/result.json" || d.Output == nil || d.Output.Size != int64(len("working\n")) {
		t.Errorf("references %+v %+v", d.Result, d.Output)
	}
	result := filepath.Join(b.root, ".claude/pipeline-runs/demo/stage-00-build/iterations/001/result.json")
	if wantPrompt := "do it\nRESULT=" + result + "\nbe brief"; got.Prompt != wantPrompt {
		t.Errorf("prompt %q, want %q", got.Prompt, wantPrompt)
	}
	if got.Model != "m1" || got.Environment["MOCK_ITERATION"] != "1" || got.Environment["MAX_ITERATIONS"] != "2" || got.Purpose != sdk.PurposeWork {
		t.Errorf("request %+v", got)
	}
	for name, want := range map[string]string{
		"iterations/001/output.md": "working\n",
		"run-0.md":                 "working\n",
		"progress.md":              "# Stage Progress\n\n---\n",
		"iterations/001/attempts/01/stream.jsonl": "{\"type\":\"x\"}\n",
		"iterations/001/result.json":              `{"summary":"done","work":{"items_completed":[],"files_touched":["a.go"]},"artifacts":{"outputs":[],"paths":[]},"signals":{"plateau_suspected":false,"risk":"low","notes":"all of it"}}` + "\n",
	} {
		if diff := cmp.Diff(want, b.read(name)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	var c struct{ Pipeline string }
	if err := json.Unmarshal([]byte(b.read("iterations/001/context.json")), &c); err != nil || c.Pipeline != "p" {
		t.Errorf("context.json: %+v, %v", c, err)
	}
}

// U099, U101: a failed attempt returns its failure and writes the failure to files.
func TestAttemptFails(t *testing.T) {
	hang := agent(func(ctx context.Context, _ sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
		<-ctx.Done()
		return sdk.ExecuteResult{}, ctx.Err()
	})
	says := func(r sdk.ExecuteResult, err error) agent {
		return func(_ context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
			x.Output(sdk.OutputChunk{Text: "partial"})
			return r, err
		}
	}
	tests := []struct {
		name      string
		agent     agent
		policy    *plan.Policy
		cause     error
		kind      failure.Kind
		retryable bool
	}{
		{"no result", says(sdk.ExecuteResult{}, nil), nil, nil, failure.ResultMissing, true},
		{"no result and an exit code", says(sdk.ExecuteResult{ExitCode: 7}, nil), nil, nil, failure.ProviderFailed, true},
		{"broken result", resultWriter("{"), nil, nil, failure.ResultInvalid, false},
		{"empty result", resultWriter(""), nil, nil, failure.ResultInvalid, false},
		{"the provider's own error", says(sdk.ExecuteResult{}, failure.New(failure.ProviderMissing, "no CLI")), nil, nil, failure.ProviderMissing, false},
		{"rate limited", says(sdk.ExecuteResult{Outcome: sdk.OutcomeRateLimited}, nil), nil, nil, failure.ProviderFailed, true},
		{"permission denied", says(sdk.ExecuteResult{Outcome: sdk.OutcomePermissionDenied}, nil), nil, nil, failure.ProviderFailed, false},
		{"an unknown error", says(sdk.ExecuteResult{}, errors.New("boom")), nil, nil, failure.ProviderFailed, true},
		{"its time is over", hang, &plan.Policy{Timeout: 0.05}, nil, failure.IterationTimeout, true},
		{"stopped by a signal", hang, nil, failure.New(failure.SignalInterrupt, "stop"), failure.SignalInterrupt, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t, tt.agent)
			b.node.Policy = tt.policy
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.cause != nil {
				cancel(tt.cause)
			}
			e := b.run(ctx, 1, 1)
			d := b.failure(e)
			if d.ErrorType != string(tt.kind) || d.Retryable != tt.retryable || d.ResumeCommand != "resume demo" {
				t.Errorf("failure %+v", d)
			}
			var kept event.FailureData
			testkit.OK(t, json.Unmarshal([]byte(b.read("iterations/001/error.json")), &kept))
			testkit.Equal(t, d, kept)
			lines := strings.Split(strings.TrimSpace(b.read("iterations/001/attempts.jsonl")), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], `"status":"running"`) || !strings.Contains(lines[1], fmt.Sprintf(`"error_type":%q`, tt.kind)) {
				t.Errorf("attempts.jsonl: %q", lines)
			}
		})
	}
}

// An earlier attempt's result does not count for the next attempt. The earlier output is kept.
func TestSecondAttemptStartsClean(t *testing.T) {
	n := 0
	b := newFixture(t, func(_ context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		x.Output(sdk.OutputChunk{Text: fmt.Sprintf("attempt %d", req.Attempt)})
		if n++; n == 1 {
			return sdk.ExecuteResult{}, errors.Join(os.WriteFile(req.Paths.Result, []byte(`{"summary":"half"}`), 0o644), errors.New("crashed"))
		}
		return sdk.ExecuteResult{}, nil
	})
	b.failure(b.run(t.Context(), 1, 1))
	if d := b.failure(b.run(t.Context(), 1, 2)); d.ErrorType != string(failure.ResultMissing) {
		t.Errorf("second attempt: %+v", d)
	}
	testkit.Equal(t, `{"summary":"half"}`, b.read("iterations/001/attempts/02/superseded-result.json"))
	testkit.Equal(t, "attempt 1\n", b.read("iterations/001/attempts/01/output.md"))
}

// U092, D24: output_path gets the output unless the agent wrote that file; the path cannot lead out of the project.
func TestOutputPath(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		byAgent    bool
		want       string
		kind       failure.Kind
	}{
		{"the engine writes it", "docs/${SESSION}.md", false, "working\n", ""},
		{"the agent wrote it", "docs/${SESSION}.md", true, "the agent's own", ""},
		{"outside the project", "../out.md", false, "", failure.ConfigInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			works := resultWriter(`{"summary":"s"}`)
			b := newFixture(t, func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
				if tt.byAgent {
					if err := os.WriteFile(req.Paths.Output, []byte("the agent's own"), 0o644); err != nil {
						return sdk.ExecuteResult{}, err
					}
				}
				return works(ctx, req, x)
			})
			b.node.OutputPath = tt.path
			e := b.run(t.Context(), 1, 1)
			if tt.kind != "" {
				if d := b.failure(e); d.ErrorType != string(tt.kind) {
					t.Errorf("failure %+v", d)
				}
				return
			}
			got, err := os.ReadFile(filepath.Join(b.root, "docs/demo.md"))
			if err != nil || string(got) != tt.want {
				t.Errorf("docs/demo.md: %q, %v", got, err)
			}
		})
	}
}

// The intent of a gated call is recorded before its verdict; observed calls need no sync. Large data and checkpoints
// are files to which the events refer.
func TestExchangeRecords(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("x", maxInline) + `"`)
	b := newFixture(t, nil)
	b.maker.Providers = working(func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) {
		v, err := x.Call(ctx, sdk.ToolCall{CallID: "c1", Tool: "write", Args: json.RawMessage(`{"p":1}`), Effect: sdk.EffectOnce})
		if err != nil || v.Action != sdk.VerdictRun || len(b.records.events) != 1 {
			t.Errorf("verdict %+v, %v, with %d events", v, err, len(b.records.events))
		}
		x.Result(sdk.ToolResult{CallID: "c1", Status: sdk.ToolSuccess, Result: big})
		x.Observe(sdk.ToolCall{CallID: "c2", Tool: "read"})
		if err := x.Checkpoint(ctx, sdk.Checkpoint{Turn: 3, Blob: []byte("memory")}); err != nil {
			t.Error(err)
		}
	})
	b.run(t.Context(), 1, 1)
	var types []event.Type
	for _, e := range b.records.events {
		types = append(types, e.Type)
	}
	if diff := cmp.Diff([]event.Type{event.ToolCall, event.ToolResult, event.ToolCall, event.Checkpoint}, types); diff != "" {
		t.Fatal(diff)
	}
	if b.records.events[0].Informative() || !b.records.events[2].Informative() {
		t.Error("a gated call has to be durable, an observed one has not")
	}
	result, err := event.Decode[event.ToolResultData](b.records.events[1])
	if err != nil || result.ResultRef == nil || result.ResultRef.Size != int64(len(big)) {
		t.Errorf("tool result %+v, %v", result, err)
	}
	checkpoint := testkit.Must(event.Decode[event.CheckpointData](b.records.events[3]))
	if got, err := b.maker.Dir.ReadRef(checkpoint.Blob); err != nil || string(got) != "memory" || !strings.HasPrefix(path.Base(checkpoint.Blob.Path), "checkpoint-3-") {
		t.Errorf("checkpoint %+v: %q, %v", checkpoint, got, err)
	}
}

// Live views get the agent's reports.
func TestLiveReports(t *testing.T) {
	var last exchange.Report
	b := newFixture(t, working(func(_ context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) {
		x.Progress(sdk.Progress{Message: "thinking", Turn: 2})
		x.Observe(sdk.ToolCall{CallID: "1", Tool: "Write"})
	}))
	b.maker.Live = func(r exchange.Report) { last = r }
	b.run(t.Context(), 2, 1)
	if last.Node != "build" || last.Iteration != 2 || last.Progress.Tool != "Write" || last.Progress.Turn != 2 {
		t.Errorf("report %+v", last)
	}
}

// U177: an attempt after a crash gets its checkpoint and calls back, and a finished call does not run again.
func TestResumedAttempt(t *testing.T) {
	var got *sdk.Resume
	var verdicts []sdk.Verdict
	b := newFixture(t, working(func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) {
		got = req.Resume
		for _, id := range []string{"c1", "c2"} {
			c := sdk.ToolCall{CallID: id, Tool: "pay"}
			if id == "c1" {
				c.Category, c.Paths, c.Command = "file_write", []string{"bill"}, "pay all"
				other := c
				other.Command = "pay nothing"
				if v, err := x.Call(ctx, other); err == nil {
					t.Errorf("another call has the result of the first: %+v", v)
				}
			}
			v, err := x.Call(ctx, c)
			if err != nil {
				t.Error(err)
			}
			verdicts = append(verdicts, v)
		}
	}))
	blob := testkit.Must(b.maker.Dir.Write("blob", []byte("memory")))
	n := b.state.Nodes["0"]
	n.Loop.Checkpoint = &event.CheckpointData{Turn: 2, Blob: blob}
	n.Loop.Calls = []state.Call{
		{Call: event.ToolCallData{
			CallID: "c1", Tool: "pay", Effect: "once", Verdict: "run", Turn: 2, Category: "file_write", Paths: []string{"bill"}, Command: "pay all",
		}, Result: &event.ToolResultData{CallID: "c1", Status: "success", Result: json.RawMessage("7")}},
		{Call: event.ToolCallData{CallID: "c2", Tool: "pay", Effect: "once", Verdict: "run"}},
	}
	b.state.Nodes["0"] = n
	if e := b.run(t.Context(), 1, 1); e.Type != event.IterationComplete {
		t.Fatalf("%s %s", e.Type, e.Data)
	}
	want := &sdk.Resume{Checkpoint: sdk.Checkpoint{Turn: 2, Blob: []byte("memory")}, Calls: []sdk.ResumedCall{
		{Call: sdk.ToolCall{
			CallID: "c1", Tool: "pay", Effect: "once", Turn: 2, Category: "file_write", Paths: []string{"bill"}, Command: "pay all",
		}, Result: &sdk.ToolResult{CallID: "c1", Status: "success", Result: json.RawMessage("7")}},
		{Call: sdk.ToolCall{CallID: "c2", Tool: "pay", Effect: "once"}},
	}}
	testkit.Equal(t, want, got)
	wantVerdicts := []sdk.Verdict{
		{CallID: "c1", Action: sdk.VerdictUse, Result: &sdk.ToolResult{CallID: "c1", Status: "success", Result: json.RawMessage("7")}},
		{CallID: "c2", Action: sdk.VerdictRun},
	}
	testkit.Equal(t, wantVerdicts, verdicts)
}

// U176: only the checkpoint files that a resume may need stay on disk.
func TestCheckpointsDoNotPileUp(t *testing.T) {
	b := newFixture(t, nil)
	b.maker.Providers = working(func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) {
		for turn := range 50 {
			if err := x.Checkpoint(ctx, sdk.Checkpoint{Turn: turn, Blob: fmt.Appendf(nil, "turn %d", turn)}); err != nil {
				t.Error(err)
			}
		}
	})
	b.run(t.Context(), 1, 1)
	var kept []string
	for _, e := range b.records.events {
		d, err := event.Decode[event.CheckpointData](e)
		if err != nil || e.Type != event.Checkpoint {
			continue
		}
		if blob, err := b.maker.Dir.ReadRef(d.Blob); err == nil {
			kept = append(kept, string(blob))
		}
	}
	testkit.Equal(t, []string{"turn 48", "turn 49"}, kept)
}
