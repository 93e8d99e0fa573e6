package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scriptedModel is a model whose reply depends on the number of its replies in the conversation: like a real model, it
// repeats itself when it gets the same request.
type scriptedModel struct {
	replies []model.Reply
	errs    map[int]error // by the number of the request, from 1

	mu       sync.Mutex
	requests []model.Request
}

func (s *scriptedModel) Reply(ctx context.Context, r model.Request, text func(string)) (model.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if ctx.Err() != nil {
		return model.Reply{}, context.Cause(ctx)
	}
	if err := s.errs[len(s.requests)]; err != nil {
		return model.Reply{}, err
	}
	replies := 0
	for _, m := range r.Messages {
		if m.Role == model.Assistant {
			replies++
		}
	}
	reply := s.replies[min(replies, len(s.replies)-1)]
	text(reply.Text)
	return reply, nil
}

// newReply returns a reply of text and calls. A call is its name and arguments.
func newReply(text string, calls ...string) model.Reply {
	in, out := int64(100), int64(10)
	r := model.Reply{Text: text, Stop: model.StopEnd, Usage: sdk.Usage{InputTokens: &in, OutputTokens: &out}, Model: "m"}
	for i := 0; i+1 < len(calls); i += 2 {
		r.Calls = append(r.Calls, model.Call{ID: fmt.Sprintf("c%d", i/2+1), Name: calls[i], Args: json.RawMessage(calls[i+1])})
	}
	return r
}

const success = `{"outcome":"success","summary":"done"}`

// countingTools are tools that count their calls.
type countingTools struct {
	mu         sync.Mutex
	calls      map[string]int // by name and arguments
	running    int
	maxRunning int // largest number of parallel calls
	keptKeys   []string
	size       int // bytes of each result
	hold       chan struct{}
	result     func(name string, args json.RawMessage) *tool.Result
	refuse     map[string]*tool.Refusal
}

func newCountingTools() *countingTools { return &countingTools{calls: map[string]int{}} }

// toolKinds are the effects and categories of the tools.
var toolKinds = map[string]struct {
	effect   sdk.Effect
	category sdk.Category
}{
	"read_file": {sdk.EffectNone, sdk.CategoryFileRead}, "list_directory": {sdk.EffectNone, sdk.CategoryFileRead}, "search_code": {sdk.EffectNone, sdk.CategoryFileRead},
	"write_file": {sdk.EffectIdempotent, sdk.CategoryFileWrite}, "modify_file": {sdk.EffectIdempotent, sdk.CategoryFileWrite},
	"delete_file": {sdk.EffectIdempotent, sdk.CategoryFileDelete}, "create_directory": {sdk.EffectIdempotent, sdk.CategoryDirectoryCreate},
	"run_terminal": {sdk.EffectOnce, sdk.CategoryTerminal},
}

func (e *countingTools) Definitions() []model.Tool {
	var all []model.Tool
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range toolKinds {
			if !yield(name) {
				return
			}
		}
	}) {
		all = append(all, model.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return all
}

func (e *countingTools) Keep(keys []string) { e.keptKeys = keys }

func (e *countingTools) Prepare(name string, args json.RawMessage, _ bool) (tool.PreparedCall, *tool.Refusal) {
	kind, known := toolKinds[name]
	if !known {
		return tool.PreparedCall{}, tool.InvalidArgs("no tool %s", name)
	}
	if r := e.refuse[name]; r != nil {
		return tool.PreparedCall{}, r
	}
	var a struct{ Path, Command string }
	_ = json.Unmarshal(args, &a)
	call := sdk.ToolCall{Tool: name, Args: args, Effect: kind.effect, Category: kind.category, Command: a.Command}
	if a.Path != "" {
		call.Paths = []string{a.Path}
	}
	return tool.PreparedCall{ToolCall: call, Run: func(context.Context) tool.Result { return e.run(name, args) }}, nil
}

func (e *countingTools) run(name string, args json.RawMessage) tool.Result {
	e.mu.Lock()
	e.calls[name+string(args)]++
	e.running++
	e.maxRunning = max(e.maxRunning, e.running)
	if e.running == 3 && e.hold != nil {
		close(e.hold)
	}
	e.mu.Unlock()
	if e.hold != nil {
		<-e.hold
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	if e.result != nil {
		if d := e.result(name, args); d != nil {
			return *d
		}
	}
	text := make([]byte, e.size)
	for i := range text {
		text[i] = 'x'
	}
	data, _ := json.Marshal(map[string]any{"ok": name, "exit_code": 0, "text": string(text)})
	return tool.Result{Status: sdk.ToolSuccess, Data: data}
}

// journal is an exchange that records like the kernel, and can die after any record.
type journal struct {
	mu       sync.Mutex
	events   []entry
	dieAt    int // the number of records after which the kernel neither records nor answers; 0: never
	die      context.CancelCauseFunc
	verdict  func(sdk.ToolCall) sdk.Verdict
	recorded map[string]*sdk.ToolResult
	output   string
	usages   []sdk.Usage
	progress []sdk.Progress
}

// entry is one record: exactly one field is set.
type entry struct {
	call           *sdk.ToolCall
	result         *sdk.ToolResult
	observed       *sdk.ToolCall
	observedResult *sdk.ToolResult
	checkpoint     *sdk.Checkpoint
}

// record adds a record, and reports whether the kernel is alive.
func (j *journal) record(e entry) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dieAt > 0 && len(j.events) >= j.dieAt {
		return false
	}
	j.events = append(j.events, e)
	if j.dieAt > 0 && len(j.events) == j.dieAt {
		j.die(errDead)
		return false
	}
	return true
}

var errDead = fmt.Errorf("the kernel is dead")

func (j *journal) Output(c sdk.OutputChunk) {
	if c.Stream == sdk.StreamText {
		j.output += c.Text
	}
}
func (j *journal) Progress(p sdk.Progress)        { j.progress = append(j.progress, p) }
func (j *journal) Usage(u sdk.Usage)              { j.usages = append(j.usages, u) }
func (j *journal) Observe(c sdk.ToolCall)         { j.record(entry{observed: &c}) }
func (j *journal) ObserveResult(r sdk.ToolResult) { j.record(entry{observedResult: &r}) }
func (j *journal) Result(r sdk.ToolResult)        { j.record(entry{result: &r}) }
func (j *journal) Checkpoint(_ context.Context, c sdk.Checkpoint) error {
	if !j.record(entry{checkpoint: &c}) {
		return errDead
	}
	return nil
}

func (j *journal) Call(_ context.Context, c sdk.ToolCall) (sdk.Verdict, error) {
	if r := j.recorded[c.CallID]; r != nil {
		return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictUse, Result: r}, nil
	}
	if !j.record(entry{call: &c}) {
		return sdk.Verdict{}, errDead
	}
	if j.verdict != nil {
		return j.verdict(c), nil
	}
	return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictRun}, nil
}

// resume returns the state for a resumed attempt: the last checkpoint, and the calls after it.
func (j *journal) resume() *sdk.Resume {
	var r *sdk.Resume
	for _, e := range j.events {
		switch {
		case e.checkpoint != nil:
			r = &sdk.Resume{Checkpoint: *e.checkpoint}
		case e.call != nil && r != nil:
			if !slices.ContainsFunc(r.Calls, func(c sdk.ResumedCall) bool { return c.Call.CallID == e.call.CallID }) {
				r.Calls = append(r.Calls, sdk.ResumedCall{Call: *e.call})
			}
		case e.result != nil && r != nil:
			for i := range r.Calls {
				if r.Calls[i].Call.CallID == e.result.CallID {
					r.Calls[i].Result = e.result
				}
			}
		}
	}
	return r
}

// calls returns the recorded calls that needed a verdict.
func (j *journal) calls() (calls []sdk.ToolCall) {
	for _, e := range j.events {
		if e.call != nil {
			calls = append(calls, *e.call)
		}
	}
	return calls
}

func (j *journal) checkpoints() (all []sdk.Checkpoint) {
	for _, e := range j.events {
		if e.checkpoint != nil {
			all = append(all, *e.checkpoint)
		}
	}
	return all
}

// newAttempt returns an attempt with the model s.
func newAttempt(t *testing.T, s *scriptedModel, change func(*Attempt)) (Attempt, *journal, *countingTools) {
	t.Helper()
	run := t.TempDir()
	j, e := &journal{}, newCountingTools()
	w := Attempt{
		Request:  sdk.ExecuteRequest{Prompt: "Do it.", WorkDir: t.TempDir(), Paths: sdk.Paths{Result: run + "/result.json", Status: run + "/status.json"}},
		Exchange: j, Client: s, Tools: e, Model: "m", MaxTurns: 100, Redactor: redact.New(nil).ForAgent(),
	}
	if change != nil {
		change(&w)
	}
	return w, j, e
}

// end runs an attempt to its end.
func end(t *testing.T, w Attempt) sdk.ExecuteResult {
	t.Helper()
	got, err := Run(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// succeed runs an attempt that must succeed.
func succeed(t *testing.T, w Attempt) sdk.ExecuteResult {
	t.Helper()
	got := end(t, w)
	if got.Outcome != sdk.OutcomeSucceeded {
		t.Fatalf("%+v, %v", got, got.Error)
	}
	return got
}

// fail runs an attempt that must fail with an error of a kind.
func fail(t *testing.T, w Attempt, kind failure.Kind) sdk.ExecuteResult {
	t.Helper()
	got := end(t, w)
	if got.Error == nil || got.Error.Kind != kind {
		t.Fatalf("%+v, %v; want %s", got, got.Error, kind)
	}
	return got
}
