package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// scripted is a model whose replies depend on how many it has given, as the talk shows: like a real one, it says the
// same when it is asked the same again.
type scripted struct {
	replies []model.Reply
	errs    map[int]error // by the number of the request, from 1; asked once each

	mu       sync.Mutex
	requests []model.Request
}

func (s *scripted) Reply(ctx context.Context, r model.Request, text func(string)) (model.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if ctx.Err() != nil {
		return model.Reply{}, context.Cause(ctx)
	}
	if err := s.errs[len(s.requests)]; err != nil {
		return model.Reply{}, err
	}
	said := 0
	for _, m := range r.Messages {
		if m.Role == model.Assistant {
			said++
		}
	}
	reply := s.replies[min(said, len(s.replies)-1)]
	text(reply.Text)
	return reply, nil
}

// says is a reply of text and calls; a call is its name and arguments.
func says(text string, calls ...string) model.Reply {
	in, out := int64(100), int64(10)
	r := model.Reply{Text: text, Stop: model.StopEnd, Usage: sdk.Usage{InputTokens: &in, OutputTokens: &out}, Model: "m"}
	for i := 0; i+1 < len(calls); i += 2 {
		r.Calls = append(r.Calls, model.Call{ID: fmt.Sprintf("c%d", i/2+1), Name: calls[i], Args: json.RawMessage(calls[i+1])})
		r.Stop = model.StopCalls
	}
	return r
}

const success = `{"outcome":"success","summary":"done"}`

// effects are tools that count what they do.
type effects struct {
	mu      sync.Mutex
	did     map[string]int // by name and arguments
	running int
	most    int // calls at the same time
	kept    []string
	size    int // bytes of each result
	hold    chan struct{}
	result  func(name string, args json.RawMessage) *Done
	refuse  map[string]*Refusal
}

func newEffects() *effects { return &effects{did: map[string]int{}} }

// kinds are the effect and category of the tools.
var kinds = map[string]struct {
	effect   sdk.Effect
	category sdk.Category
}{
	"read_file": {sdk.EffectNone, sdk.CategoryFileRead}, "list_directory": {sdk.EffectNone, sdk.CategoryFileRead}, "search_code": {sdk.EffectNone, sdk.CategoryFileRead},
	"write_file": {sdk.EffectIdempotent, sdk.CategoryFileWrite}, "modify_file": {sdk.EffectIdempotent, sdk.CategoryFileWrite},
	"delete_file": {sdk.EffectIdempotent, sdk.CategoryFileDelete}, "create_directory": {sdk.EffectIdempotent, sdk.CategoryDirectoryCreate},
	"run_terminal": {sdk.EffectOnce, sdk.CategoryTerminal},
}

func (e *effects) Definitions() []model.Tool {
	var all []model.Tool
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range kinds {
			if !yield(name) {
				return
			}
		}
	}) {
		all = append(all, model.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return all
}

func (e *effects) Keep(keys []string) { e.kept = keys }

func (e *effects) Prepare(name string, args json.RawMessage, _ bool) (Prepared, *Refusal) {
	kind, known := kinds[name]
	if !known {
		return Prepared{}, &Refusal{sdk.ToolError, codeArgs, "no tool " + name}
	}
	if r := e.refuse[name]; r != nil {
		return Prepared{}, r
	}
	var a struct{ Path, Command string }
	_ = json.Unmarshal(args, &a)
	call := sdk.ToolCall{Tool: name, Args: args, Effect: kind.effect, Category: kind.category, Command: a.Command}
	if a.Path != "" {
		call.Paths = []string{a.Path}
	}
	return Prepared{Call: call, Run: func(context.Context) Done { return e.run(name, args) }}, nil
}

func (e *effects) run(name string, args json.RawMessage) Done {
	e.mu.Lock()
	e.did[name+string(args)]++
	e.running++
	e.most = max(e.most, e.running)
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
	return Done{Status: sdk.ToolSuccess, Data: data}
}

// journal is the kernel's side: it records like the kernel, and can die after any record.
type journal struct {
	mu      sync.Mutex
	events  []entry
	dieAt   int // the number of records after which nothing is recorded or answered any more; 0: never
	die     context.CancelCauseFunc
	verdict func(sdk.ToolCall) sdk.Verdict
	known   map[string]*sdk.ToolResult
	said    string
	used    []sdk.Usage
	news    []sdk.Progress
}

// entry is one record: one of the fields is set.
type entry struct {
	call       *sdk.ToolCall
	result     *sdk.ToolResult
	observed   *sdk.ToolCall
	observedOf *sdk.ToolResult
	checkpoint *sdk.Checkpoint
}

// record reports whether the kernel is alive to answer.
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
		j.said += c.Text
	}
}
func (j *journal) Progress(p sdk.Progress)        { j.news = append(j.news, p) }
func (j *journal) Usage(u sdk.Usage)              { j.used = append(j.used, u) }
func (j *journal) Observe(c sdk.ToolCall)         { j.record(entry{observed: &c}) }
func (j *journal) ObserveResult(r sdk.ToolResult) { j.record(entry{observedOf: &r}) }
func (j *journal) Result(r sdk.ToolResult)        { j.record(entry{result: &r}) }
func (j *journal) Checkpoint(_ context.Context, c sdk.Checkpoint) error {
	if !j.record(entry{checkpoint: &c}) {
		return errDead
	}
	return nil
}

func (j *journal) Call(_ context.Context, c sdk.ToolCall) (sdk.Verdict, error) {
	if r := j.known[c.CallID]; r != nil {
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

// resume is what a kernel that starts again hands back: the last checkpoint, and the calls after it.
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

// calls are the gated calls on record, checkpoints the blobs.
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

// bench is an attempt of the model s.
func bench(t *testing.T, s *scripted, change func(*Work)) (Work, *journal, *effects) {
	t.Helper()
	run := t.TempDir()
	j, e := &journal{}, newEffects()
	w := Work{
		Request:  sdk.ExecuteRequest{Prompt: "Do it.", WorkDir: t.TempDir(), Paths: sdk.Paths{Result: run + "/result.json", Status: run + "/status.json"}},
		Exchange: j, Client: s, Tools: e, Model: "m", MaxTurns: 100, Redactor: redact.New(nil).Agent(),
	}
	if change != nil {
		change(&w)
	}
	return w, j, e
}
