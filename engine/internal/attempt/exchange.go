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

// maxInline is the size limit of a tool call's arguments or result in the journal, in bytes. Larger ones are written
// to files.
const maxInline = 8 << 10

// maxObserved limits the journaled calls and results of an attempt that the agent only reports.
const maxObserved = 20_000

// exchange is the engine's side of an attempt's conversation with the provider. It is safe for concurrent use.
type exchange struct {
	attempt         *attempt
	text            output.Buffer
	raw             streamFile
	stderr          streamFile
	approvalContext approval.Context
	pause           func() (resume func()) // pauses the attempt's deadline
	cancel          func(error)            // ends the attempt with the error

	mu              sync.Mutex // guards:
	observedCalls   int        // number of observed calls and results
	lastReport      Report
	liveText        *redact.Stream // redacts the text for views
	usage           *sdk.Usage
	toolPaths       []string                // written by tools
	replayedCalls   map[string]state.Call   // calls from before a crash, by id
	checkpointFiles []string                // files of checkpoints, newest last
	inFlight        map[string]inFlightCall // calls without a result, by id
	artifactCalls   artifactCalls
}

// newExchange returns the exchange of an attempt. ctx carries the attempt's deadline, and paths are those of the
// request.
func newExchange(ctx context.Context, cancel func(error), a *attempt, paths sdk.Paths) *exchange {
	x := &exchange{
		attempt: a, replayedCalls: map[string]state.Call{}, inFlight: map[string]inFlightCall{}, cancel: cancel, pause: func() func() { return pluginhost.PauseCallTimeout(ctx) },
		raw:      streamFile{store: a.Dir, name: a.privateDir() + "/stream.jsonl", redactor: a.Redactor.ForAgent().Stream()},
		stderr:   streamFile{store: a.Dir, name: a.privateDir() + "/stderr.txt", redactor: a.Redactor.ForAgent().Stream()},
		liveText: a.Redactor.ForAgent().Stream(),
		approvalContext: approval.Context{
			Project: a.Project.Path(), Person: a.state.Waits, Inputs: []string{paths.Context, paths.InputArtifact},
			Reports: []string{paths.Result, paths.Status, paths.Progress, paths.Output, paths.Artifact, paths.Attempt},
		},
	}
	if c := a.loop().Checkpoint; c != nil {
		x.checkpointFiles = []string{c.Blob.Path}
	}
	for _, c := range a.loop().Calls {
		x.replayedCalls[c.Call.CallID] = c
	}
	if a.command.Location.Step == "" {
		x.artifactCalls.tool = a.node.Artifact.Tool()
		a.replayArtifactCalls(&x.artifactCalls)
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
		x.updateReport(func(r *Report) { r.Text = x.liveText.Add(c.Text) })
	}
}

// flush reports the end of the text that the redactor held back.
func (x *exchange) flush() {
	x.mu.Lock()
	rest := x.liveText.End()
	x.mu.Unlock()
	if rest != "" {
		x.updateReport(func(r *Report) { r.Text = rest })
	}
}

// Progress implements sdk.Exchange.
func (x *exchange) Progress(p sdk.Progress) {
	p.Message = x.attempt.Redactor.Text(p.Message)
	x.updateReport(func(r *Report) { r.Progress = p })
}

// Usage implements sdk.Exchange.
func (x *exchange) Usage(u sdk.Usage) {
	x.updateReport(func(r *Report) { r.Usage = &u; x.usage = &u })
}

// Observe implements sdk.Exchange.
func (x *exchange) Observe(c sdk.ToolCall) {
	x.updateReport(func(r *Report) { r.Progress.Tool = c.Tool })
	x.noteWrites(c)
	x.updateArtifactCalls(func(h *artifactCalls) { h.add(c) })
	if x.countObserved() {
		d, err := x.newIntent(c)
		d.Observed = true
		x.trackCall(d)
		x.recordObserved(x.newEvent(event.ToolCall, d), err)
	}
}

// ObserveResult implements sdk.Exchange.
func (x *exchange) ObserveResult(r sdk.ToolResult) {
	x.updateArtifactCalls(func(h *artifactCalls) { h.finish(r.CallID, r.Status) })
	if x.countObserved() {
		x.recordObserved(x.newResultEvent(r, true))
	}
}

// countObserved counts one more observed call or result and reports whether it is journaled. The agent's stream has
// the others.
func (x *exchange) countObserved() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.observedCalls++
	if x.observedCalls == maxObserved+1 {
		x.attempt.log.Warn("too many observed tool calls; the rest is not journaled", "limit", maxObserved)
	}
	return x.observedCalls <= maxObserved
}

// Call implements sdk.Exchange. The node's policy or the user decides. The intent is durable after the decision and
// before the verdict. A call that finished before a crash does not run again: the verdict carries its result.
func (x *exchange) Call(ctx context.Context, c sdk.ToolCall) (sdk.Verdict, error) {
	x.updateReport(func(r *Report) { r.Progress.Tool = c.Tool })
	x.noteWrites(c)
	intent, err := x.newIntent(c)
	if done := x.replayedCall(c.CallID); err == nil && done.Result != nil {
		if !sameCall(done.Call, intent) {
			return sdk.Verdict{}, failure.New(failure.ProviderFailed, "tool call %s was %s before the crash and differs now", c.CallID, done.Call.Tool).
				WithHint("providers must keep tool-call ids stable across resume")
		}
		r, err := x.attempt.toolResult(done.Result)
		return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictUse, Result: r}, err
	}
	if err == nil {
		err = x.decide(ctx, c, &intent)
	}
	if err == nil {
		failpoint.Point("tool.ruled")
		err = x.attempt.record(ctx, x.newEvent(event.ToolCall, intent))
		failpoint.Point("tool.committed")
		x.trackCall(intent)
		if intent.Verdict == string(sdk.VerdictRun) {
			x.updateArtifactCalls(func(h *artifactCalls) { h.add(c) })
		}
	}
	return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictAction(intent.Verdict), Reason: intent.Reason}, err
}

func (x *exchange) replayedCall(id string) state.Call {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.replayedCalls[id]
}

// Result implements sdk.Exchange.
func (x *exchange) Result(r sdk.ToolResult) {
	x.updateArtifactCalls(func(h *artifactCalls) { h.finish(r.CallID, r.Status) })
	e, err := x.newResultEvent(r, false)
	if err == nil {
		failpoint.Point("tool.ended")
		err = x.attempt.record(context.Background(), e)
		failpoint.Point("tool.recorded")
	}
	if err != nil {
		x.attempt.log.Error("record tool result", "error", err)
	}
}

// Checkpoint implements sdk.Exchange. The blob is a file of the attempt; the journal refers to it.
func (x *exchange) Checkpoint(ctx context.Context, c sdk.Checkpoint) error {
	ref, err := x.attempt.writeBlob(fmt.Sprintf("checkpoint-%d", c.Turn), c.Blob)
	if err != nil {
		return err
	}
	if err := x.attempt.record(ctx, x.newEvent(event.Checkpoint, event.CheckpointData{Turn: c.Turn, Blob: ref})); err != nil {
		return err
	}
	failpoint.Point("tool.checkpoint")
	return x.pruneCheckpoints(ref)
}

// maxCheckpointFiles is the number of checkpoint files per attempt, which bounds the disk use. Resume needs the last;
// an older state.json may name the one before.
const maxCheckpointFiles = 2

// pruneCheckpoints removes the checkpoint files older than [maxCheckpointFiles].
func (x *exchange) pruneCheckpoints(newest event.Ref) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.checkpointFiles = append(slices.DeleteFunc(x.checkpointFiles, func(name string) bool { return name == newest.Path }), newest.Path)
	if len(x.checkpointFiles) <= maxCheckpointFiles {
		return nil
	}
	old := x.checkpointFiles[0]
	x.checkpointFiles = x.checkpointFiles[1:]
	return x.attempt.Dir.Remove(old)
}

// recordObserved commits an informational event. A failure is only logged.
func (x *exchange) recordObserved(e event.Event, err error) {
	if err == nil {
		e.Volatile = true
		err = x.attempt.record(context.Background(), e)
	}
	if err != nil {
		x.attempt.log.Warn("record observed tool call", "error", err)
	}
}

// newIntent returns a call's journal record.
func (x *exchange) newIntent(c sdk.ToolCall) (event.ToolCallData, error) {
	d := event.ToolCallData{
		CallID: c.CallID, Tool: event.Truncate(c.Tool, event.MaxName), Effect: string(c.Effect), Turn: c.Turn,
		Category: string(c.Category), Paths: x.redactPaths(c.Paths), Command: truncateText(x.attempt.Redactor.Text(c.Command)),
	}
	var err error
	d.Args, d.ArgsRef, err = x.inlineOrStore(c.Args, "args")
	return d, err
}

// redactPaths returns the first paths, redacted; nil for none.
func (x *exchange) redactPaths(paths []string) []string {
	var list []string
	for _, path := range paths {
		list = append(list, x.attempt.Redactor.Text(path))
	}
	if list == nil {
		return nil
	}
	return truncateList(list)
}

func (x *exchange) newResultEvent(r sdk.ToolResult, observed bool) (event.Event, error) {
	d := event.ToolResultData{CallID: r.CallID, Status: string(r.Status), Observed: observed}
	x.addCallData(&d)
	var err error
	d.Result, d.ResultRef, err = x.inlineOrStore(r.Result, "result")
	return x.newEvent(event.ToolResult, d), err
}

// inlineOrStore returns redacted JSON for an event, or writes it to a file of the attempt if it is large or invalid.
func (x *exchange) inlineOrStore(raw json.RawMessage, name string) (json.RawMessage, *event.Ref, error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	raw = x.attempt.Redactor.JSON(raw)
	if len(raw) <= maxInline && json.Valid(raw) {
		return raw, nil, nil
	}
	ref, err := x.attempt.writeBlob(name, raw)
	return nil, &ref, err
}

// writeBlob writes a file that an event refers to. The name contains a hash of the content, so that a retry in the
// same directory never overwrites it.
func (a *attempt) writeBlob(name string, data []byte) (event.Ref, error) {
	sum := sha256.Sum256(data)
	return a.Dir.Write(fmt.Sprintf("%s/%s-%x", a.privateDir(), name, sum[:8]), data)
}

func (x *exchange) newEvent(t event.Type, data any) event.Event {
	e := event.New(t, x.attempt.command.Location.Cursor(), x.attempt.command.Key, data)
	e.Attempt = x.attempt.command.Attempt
	return e
}

// updateArtifactCalls changes the calls that deliver the artifact, under the mutex.
func (x *exchange) updateArtifactCalls(change func(*artifactCalls)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.artifactCalls)
}

func (x *exchange) updateReport(change func(*Report)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.attempt.command
	x.lastReport.At = c.Location
	x.lastReport.Node, x.lastReport.Branch, x.lastReport.Iteration, x.lastReport.Attempt, x.lastReport.Text = x.attempt.node.ID, c.Location.Branch, c.Location.Iteration, c.Attempt, ""
	change(&x.lastReport)
	if x.attempt.Live != nil {
		x.attempt.Live(x.lastReport)
	}
}
