package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"

	"github.com/dodo-digital/agent-pipelines/engine/internal/approval"
	"github.com/dodo-digital/agent-pipelines/engine/internal/output"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxInline is the largest part of a tool call that stands in the journal; the rest is a file.
const maxInline = 8 << 10

// maxObserved is how many calls and results of an attempt are journaled that an agent only tells of.
const maxObserved = 20_000

// exchange is the kernel's side of an attempt's conversation. It is safe for concurrent use.
type exchange struct {
	attempt *attempt
	text    output.Buffer
	raw     spool
	stderr  spool
	scene   approval.Context
	pause   func() (resume func()) // the attempt's time
	cancel  func(error)            // the attempt, which then fails for that reason

	mu       sync.Mutex // guards:
	observed int        // calls that the agent told of
	last     Report
	shown    *redact.Stream // the text, as views have it
	usage    *sdk.Usage
	paths    []string              // that tools wrote
	known    map[string]state.Call // calls of an attempt that a crash cut off, by id
	blobs    []string              // checkpoints that are on the disk, the newest last
	under    map[string]underWay   // calls that have no result yet, by id
	handed   handover
}

// newExchange is for the attempt whose time and whose end are those of ctx, and which was given the paths.
func newExchange(ctx context.Context, cancel func(error), a *attempt, given sdk.Paths) *exchange {
	x := &exchange{
		attempt: a, known: map[string]state.Call{}, under: map[string]underWay{}, cancel: cancel, pause: func() func() { return pluginhost.PauseCallTimeout(ctx) },
		raw:    spool{store: a.Dir, name: a.private() + "/stream.jsonl", clean: a.Redactor.Agent().Stream()},
		stderr: spool{store: a.Dir, name: a.private() + "/stderr.txt", clean: a.Redactor.Agent().Stream()},
		shown:  a.Redactor.Agent().Stream(),
		scene: approval.Context{
			Project: a.Project.Path(), Person: a.state.Waits, Given: []string{given.Context, given.InputArtifact},
			Reports: []string{given.Result, given.Status, given.Progress, given.Output, given.Artifact, given.Attempt},
		},
	}
	if c := a.loop().Checkpoint; c != nil {
		x.blobs = []string{c.Blob.Path}
	}
	for _, c := range a.loop().Calls {
		x.known[c.Call.CallID] = c
	}
	if a.command.Location.Step == "" {
		x.handed.tool = a.node.Artifact.Tool()
		a.recalled(&x.handed)
	}
	return x
}

// Output implements sdk.Exchange.
func (x *exchange) Output(c sdk.OutputChunk) {
	switch c.Stream {
	case sdk.StreamRaw:
		x.raw.add(c.Text)
	case sdk.StreamStderr:
		x.stderr.add(c.Text)
	default:
		x.text.Add(c.Text)
		x.live(func(r *Report) { r.Text = x.shown.Add(c.Text) })
	}
}

// flush shows the end of the text, which was held back for what could still come.
func (x *exchange) flush() {
	x.mu.Lock()
	rest := x.shown.End()
	x.mu.Unlock()
	if rest != "" {
		x.live(func(r *Report) { r.Text = rest })
	}
}

// Progress implements sdk.Exchange.
func (x *exchange) Progress(p sdk.Progress) {
	p.Message = x.attempt.Redactor.Text(p.Message)
	x.live(func(r *Report) { r.Progress = p })
}

// Usage implements sdk.Exchange.
func (x *exchange) Usage(u sdk.Usage) {
	x.live(func(r *Report) { r.Usage = &u; x.usage = &u })
}

// Observe implements sdk.Exchange.
func (x *exchange) Observe(c sdk.ToolCall) {
	x.live(func(r *Report) { r.Progress.Tool = c.Tool })
	x.note(c)
	x.hand(func(h *handover) { h.made(c) })
	if x.counts() {
		d, err := x.intent(c)
		d.Observed = true
		x.begin(d)
		x.report(x.event(event.ToolCall, d), err)
	}
}

// ObserveResult implements sdk.Exchange.
func (x *exchange) ObserveResult(r sdk.ToolResult) {
	x.hand(func(h *handover) { h.ended(r.CallID, r.Status) })
	if x.counts() {
		x.report(x.end(r, true))
	}
}

// counts reports whether one more of what the agent tells of its tools goes into the journal. What does not
// is in the agent's stream all the same.
func (x *exchange) counts() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.observed++
	if x.observed == maxObserved+1 {
		x.attempt.log.Warn("the agent tells of more tool calls than are journaled", "limit", maxObserved)
	}
	return x.observed <= maxObserved
}

// Call implements sdk.Exchange. The node's policy decides, or a person; the intent is on disk before the verdict is
// given, and after the decision. A call that was finished before a crash is not made again: its result is handed
// back.
func (x *exchange) Call(ctx context.Context, c sdk.ToolCall) (sdk.Verdict, error) {
	x.live(func(r *Report) { r.Progress.Tool = c.Tool })
	x.note(c)
	intent, err := x.intent(c)
	if done := x.finished(c.CallID); err == nil && done.Result != nil {
		if !same(done.Call, intent) {
			return sdk.Verdict{}, failure.New(failure.ProviderFailed, "call %s was %s before a crash, and now is another one", c.CallID, done.Call.Tool).
				WithHint("the provider has to give the calls of a resumed attempt the ids that they had")
		}
		r, err := x.attempt.toolResult(done.Result)
		return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictUse, Result: r}, err
	}
	if err == nil {
		err = x.rule(ctx, c, &intent)
	}
	if err == nil {
		failpoint.Point("tool.ruled")
		err = x.attempt.record(ctx, x.event(event.ToolCall, intent))
		failpoint.Point("tool.committed")
		x.begin(intent)
		if intent.Verdict == string(sdk.VerdictRun) {
			x.hand(func(h *handover) { h.made(c) })
		}
	}
	return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictAction(intent.Verdict), Reason: intent.Reason}, err
}

func (x *exchange) finished(id string) state.Call {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.known[id]
}

// Result implements sdk.Exchange.
func (x *exchange) Result(r sdk.ToolResult) {
	x.hand(func(h *handover) { h.ended(r.CallID, r.Status) })
	e, err := x.end(r, false)
	if err == nil {
		failpoint.Point("tool.ended")
		err = x.attempt.record(context.Background(), e)
		failpoint.Point("tool.recorded")
	}
	if err != nil {
		x.attempt.log.Error("record tool result", "error", err)
	}
}

// Checkpoint implements sdk.Exchange: the blob is a file of the attempt, the journal refers to it.
func (x *exchange) Checkpoint(ctx context.Context, c sdk.Checkpoint) error {
	ref, err := x.attempt.keepBlob(fmt.Sprintf("checkpoint-%d", c.Turn), c.Blob)
	if err != nil {
		return err
	}
	if err := x.attempt.record(ctx, x.event(event.Checkpoint, event.CheckpointData{Turn: c.Turn, Blob: ref})); err != nil {
		return err
	}
	failpoint.Point("tool.checkpoint")
	return x.forgetBlob(ref)
}

// keptBlobs is how many checkpoints of an attempt stay on the disk: a night of turns would fill it. The last is what a
// resume needs, the one before it what a state.json may still name.
const keptBlobs = 2

// forgetBlob removes the checkpoints that the newest one leaves nobody a use for.
func (x *exchange) forgetBlob(newest event.Ref) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.blobs = append(slices.DeleteFunc(x.blobs, func(name string) bool { return name == newest.Path }), newest.Path)
	if len(x.blobs) <= keptBlobs {
		return nil
	}
	old := x.blobs[0]
	x.blobs = x.blobs[1:]
	return x.attempt.Dir.Remove(old)
}

// report commits an event that only informs; losing it is logged, not fatal.
func (x *exchange) report(e event.Event, err error) {
	if err == nil {
		e.Volatile = true
		err = x.attempt.record(context.Background(), e)
	}
	if err != nil {
		x.attempt.log.Warn("record observed tool call", "error", err)
	}
}

// intent is a call as the journal has it.
func (x *exchange) intent(c sdk.ToolCall) (event.ToolCallData, error) {
	d := event.ToolCallData{
		CallID: c.CallID, Tool: event.Truncate(c.Tool, event.MaxName), Effect: string(c.Effect), Turn: c.Turn,
		Category: string(c.Category), Paths: x.pathList(c.Paths), Command: brief(x.attempt.Redactor.Text(c.Command)),
	}
	var err error
	d.Args, d.ArgsRef, err = x.inline(c.Args, "args")
	return d, err
}

// pathList is the beginning of a list of paths as the journal has it, nil of none.
func (x *exchange) pathList(paths []string) []string {
	var list []string
	for _, path := range paths {
		list = append(list, x.attempt.Redactor.Text(path))
	}
	if list == nil {
		return nil
	}
	return shortList(list)
}

func (x *exchange) end(r sdk.ToolResult, observed bool) (event.Event, error) {
	d := event.ToolResultData{CallID: r.CallID, Status: string(r.Status), Observed: observed}
	x.finish(&d)
	var err error
	d.Result, d.ResultRef, err = x.inline(r.Result, "result")
	return x.event(event.ToolResult, d), err
}

// inline keeps small JSON in the event and puts the rest into a file of the attempt; neither has secrets.
func (x *exchange) inline(raw json.RawMessage, what string) (json.RawMessage, *event.Ref, error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	raw = x.attempt.Redactor.JSON(raw)
	if len(raw) <= maxInline && json.Valid(raw) {
		return raw, nil, nil
	}
	ref, err := x.attempt.keepBlob(what, raw)
	return nil, &ref, err
}

// keepBlob writes a file of the attempt that an event will refer to. Its name holds a hash of what it
// holds, because an attempt that is made again shares the directory: what the journal refers to is
// never written over.
func (a *attempt) keepBlob(what string, data []byte) (event.Ref, error) {
	sum := sha256.Sum256(data)
	return a.Dir.Write(fmt.Sprintf("%s/%s-%x", a.private(), what, sum[:8]), data)
}

func (x *exchange) event(t event.Type, data any) event.Event {
	e := event.New(t, x.attempt.command.Location.Cursor(), x.attempt.command.Key, data)
	e.Attempt = x.attempt.command.Attempt
	return e
}

// hand changes what is remembered of calls that hand the artifact over.
func (x *exchange) hand(change func(*handover)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.handed)
}

func (x *exchange) live(change func(*Report)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.attempt.command
	x.last.At = c.Location
	x.last.Node, x.last.Branch, x.last.Iteration, x.last.Attempt, x.last.Text = x.attempt.node.ID, c.Location.Branch, c.Location.Iteration, c.Attempt, ""
	change(&x.last)
	if x.attempt.Live != nil {
		x.attempt.Live(x.last)
	}
}
