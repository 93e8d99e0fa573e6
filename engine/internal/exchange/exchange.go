package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/approval"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Exchange is the engine's side of an attempt's conversation with the provider. When the attempt is abandoned, tool
// calls are denied, observed calls are not journaled, and deliveries are counted as late. Output still goes to the
// attempt's own files, and usage is charged, until the provider returns. It is safe for concurrent use.
type Exchange struct {
	*recorder
	approver *approver
	report   reporter
	calls    callTracker
	late     lateDeliveries
	text     result.OutputBuffer
	raw      streamFile
	stderr   streamFile
	observed atomic.Int64 // observed calls and results

	mu              sync.Mutex // guards checkpointFiles
	checkpointFiles []string   // files of checkpoints, newest last
}

var _ sdk.Exchange = (*Exchange)(nil)

// New returns the exchange of an attempt. ctx carries the attempt's deadline, and cancel ends the attempt. dir is the
// attempt's private directory, paths are the paths of the request. live receives the agent's reports; it may be nil.
func New(ctx context.Context, cancel func(error), e *effect.Effect, dir string, paths sdk.Paths, live func(Report)) *Exchange {
	agent, at, l := e.Redactor.ForAgent(), e.Command.Location, e.Loop()
	r := &recorder{e, dir}
	mode, err := e.DeliveryMode()
	if err != nil { // without a mode no rule for one counts
		e.Log.Warn("the delivery mode is unknown", "error", err)
		mode = ""
	}
	x := &Exchange{
		recorder: r,
		approver: &approver{
			recorder: r, cancel: cancel, pause: func() func() { return pluginhost.PauseCallTimeout(ctx) }, replayed: map[string]state.Call{},
			context: approval.Context{
				Project: e.Project.Path(), Person: e.State.Waits, Mode: mode, Inputs: []string{paths.Context, paths.InputArtifact},
				Reports: []string{paths.Result, paths.Status, paths.Progress, paths.Output, paths.Artifact, paths.Attempt},
			},
		},
		report: reporter{live: live, text: agent.Stream(), last: Report{Node: e.Node.ID, At: at, Branch: at.Branch, Iteration: at.Iteration, Attempt: e.Command.Attempt}},
		calls:  callTracker{inFlight: map[string]inFlightCall{}},
		late:   lateDeliveries{effect: e, attemptCtx: ctx},
		raw:    streamFile{store: e.Dir, name: dir + "/stream.jsonl", redactor: agent.Stream()},
		stderr: streamFile{store: e.Dir, name: dir + "/stderr.txt", redactor: agent.Stream()},
	}
	if l.Checkpoint != nil {
		x.checkpointFiles = []string{l.Checkpoint.Blob.Path}
	}
	if at.Step == "" {
		x.calls.artifactTool = e.Node.Artifact.Tool()
	}
	for _, c := range l.Calls {
		x.approver.replayed[c.Call.CallID] = c
		x.replayArtifact(c)
	}
	return x
}

// replayArtifact remembers a call that succeeded before a crash, if it delivers the artifact.
func (x *Exchange) replayArtifact(c state.Call) {
	if c.Result == nil || c.Result.Status != string(sdk.ToolSuccess) || c.Call.Tool != x.calls.artifactTool {
		return
	}
	args, err := readPayload(x.Effect, c.Call.Args, c.Call.ArgsRef)
	if err != nil {
		x.Log.Warn("cannot read the arguments of a call from before the crash", "call", c.Call.CallID, "error", err)
		return
	}
	x.calls.addArtifact(sdk.ToolCall{CallID: c.Call.CallID, Tool: c.Call.Tool, Args: args})
}

// Close refuses further deliveries and records the late ones. r and err are the results of the provider's call.
func (x *Exchange) Close(r sdk.ExecuteResult, err error) { x.late.close(r, err) }

// Flush reports the rest of the output and closes the files of the agent's event stream and stderr.
func (x *Exchange) Flush() {
	x.report.flush()
	for _, s := range []*streamFile{&x.raw, &x.stderr} {
		if err := s.close(); err != nil {
			x.Log.Warn("could not write the whole stream of the agent", "file", s.name, "error", err)
		}
	}
}

// Text returns the output as the provider delivered it, unredacted.
func (x *Exchange) Text() string { return x.text.Text() }

// StderrTail returns at most the last n bytes of the agent's stderr, after Flush.
func (x *Exchange) StderrTail(n int) string { return x.stderr.readTail(n) }

// LastUsage returns the usage that the provider reported last, nil for none.
func (x *Exchange) LastUsage() *sdk.Usage { return x.report.usage() }

// WrittenPaths returns the paths in tool calls that write files, denied calls included.
func (x *Exchange) WrittenPaths() []string { return x.calls.writtenPaths() }

// ArtifactArgs returns the arguments of the tool call that delivers the node's artifact, false without one.
func (x *Exchange) ArtifactArgs() (json.RawMessage, bool) { return x.calls.artifactArgs() }

// Output implements sdk.Exchange.
func (x *Exchange) Output(c sdk.OutputChunk) {
	if x.late.count(event.LateOutput, len(c.Text), "") == closed {
		return
	}
	switch c.Stream {
	case sdk.StreamRaw:
		x.raw.add(c.Text)
	case sdk.StreamStderr:
		x.stderr.add(c.Text)
	default:
		x.text.Add(c.Text)
		x.report.update(func(r *Report) { r.Text = x.report.text.Add(c.Text) })
	}
}

// Progress implements sdk.Exchange.
func (x *Exchange) Progress(p sdk.Progress) {
	if x.late.phase() == inFlight {
		p.Message = x.Redactor.Text(p.Message)
		x.report.update(func(r *Report) { r.Progress = p })
	}
}

// Usage implements sdk.Exchange.
func (x *Exchange) Usage(u sdk.Usage) {
	if x.late.phase() != closed {
		x.report.update(func(r *Report) { r.Usage = &u })
	}
}

// Observe implements sdk.Exchange.
func (x *Exchange) Observe(c sdk.ToolCall) {
	now := x.late.count(event.LateToolCall, 0, c.Tool)
	if now == closed {
		return
	}
	x.calls.addWritten(c) // a late call's files are scanned for secrets, too
	if now == abandoned {
		return
	}
	x.report.update(func(r *Report) { r.Progress.Tool = c.Tool })
	x.calls.addArtifact(c)
	if x.countObserved() {
		d, err := x.newIntent(c)
		d.Observed = true
		x.calls.track(d)
		x.recordObserved(x.Event(event.ToolCall, d), err)
	}
}

// ObserveResult implements sdk.Exchange.
func (x *Exchange) ObserveResult(r sdk.ToolResult) {
	if x.late.phase() != inFlight {
		return
	}
	x.calls.finishArtifact(r)
	if x.countObserved() {
		x.recordObserved(x.newResultEvent(r, true))
	}
}

// countObserved counts one more observed call or result and reports whether the journal gets it.
func (x *Exchange) countObserved() bool {
	n := x.observed.Add(1)
	if n == maxObserved+1 {
		x.Log.Warn("too many observed tool calls; the rest is not journaled", "limit", maxObserved)
	}
	return n <= maxObserved
}

// Call implements sdk.Exchange. The node's policy or the user decides. The intent is durable after the decision and
// before the verdict. A call that finished before a crash does not run again: the verdict carries its result.
func (x *Exchange) Call(ctx context.Context, c sdk.ToolCall) (sdk.Verdict, error) {
	if x.late.count(event.LateToolCall, 0, c.Tool) != inFlight {
		return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictDeny, Reason: "the attempt was abandoned; its calls no longer count"}, nil
	}
	x.report.update(func(r *Report) { r.Progress.Tool = c.Tool })
	x.calls.addWritten(c)
	intent, err := x.newIntent(c)
	if done := x.approver.replayed[c.CallID]; err == nil && done.Result != nil {
		if !sameCall(done.Call, intent) {
			return sdk.Verdict{}, failure.New(failure.ProviderFailed, "tool call %s was %s before the crash and differs now", failure.OneLine(c.CallID), done.Call.Tool).
				WithHint("providers must keep tool-call ids stable across resume")
		}
		r, err := toolResult(x.Effect, done.Result)
		return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictUse, Result: r}, err
	}
	if err == nil {
		err = x.approver.decide(ctx, c, &intent)
	}
	if err == nil {
		failpoint.Point("tool.ruled")
		err = x.Record(ctx, x.Event(event.ToolCall, intent))
		failpoint.Point("tool.committed")
	}
	if err == nil {
		x.calls.track(intent)
		if intent.Verdict == string(sdk.VerdictRun) {
			x.calls.addArtifact(c)
		}
	}
	return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictAction(intent.Verdict), Reason: intent.Reason}, err
}

// Result implements sdk.Exchange. The result of an allowed call counts, even if it is late.
func (x *Exchange) Result(r sdk.ToolResult) {
	if x.late.phase() == closed {
		return
	}
	x.calls.finishArtifact(r)
	e, err := x.newResultEvent(r, false)
	if err == nil {
		failpoint.Point("tool.ended")
		err = x.Record(context.Background(), e)
		failpoint.Point("tool.recorded")
	}
	if err != nil {
		x.Log.Error("record tool result", "error", err)
	}
}

// Checkpoint implements sdk.Exchange. The blob is a file of the attempt; the journal refers to it.
func (x *Exchange) Checkpoint(ctx context.Context, c sdk.Checkpoint) error {
	if x.late.phase() == closed {
		return failure.New(failure.Internal, "the attempt is over")
	}
	ref, err := x.writeBlob(fmt.Sprintf("checkpoint-%d", c.Turn), c.Blob)
	if err != nil {
		return err
	}
	if err := x.Record(ctx, x.Event(event.Checkpoint, event.CheckpointData{Turn: c.Turn, Blob: ref})); err != nil {
		return err
	}
	failpoint.Point("tool.checkpoint")
	return x.pruneCheckpoints(ref)
}

// maxCheckpointFiles is the number of checkpoint files per attempt, which bounds the disk use. A resume needs the
// last file; an older state.json may name the file before.
const maxCheckpointFiles = 2

// pruneCheckpoints removes the oldest checkpoint file if there are more than maxCheckpointFiles.
func (x *Exchange) pruneCheckpoints(newest event.Ref) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.checkpointFiles = append(slices.DeleteFunc(x.checkpointFiles, func(name string) bool { return name == newest.Path }), newest.Path)
	if len(x.checkpointFiles) <= maxCheckpointFiles {
		return nil
	}
	old := x.checkpointFiles[0]
	x.checkpointFiles = x.checkpointFiles[1:]
	return x.Dir.Remove(old)
}

// recordObserved commits an informational event. A failure is only logged.
func (x *Exchange) recordObserved(e event.Event, err error) {
	if err == nil {
		e.Volatile = true
		err = x.Record(context.Background(), e)
	}
	if err != nil {
		x.Log.Warn("record observed tool call", "error", err)
	}
}

// newResultEvent returns the record of a result, with the tool, turn and duration of its call, and the attempt's
// tokens so far.
func (x *Exchange) newResultEvent(r sdk.ToolResult, observed bool) (event.Event, error) {
	d := event.ToolResultData{CallID: r.CallID, Status: string(r.Status), Observed: observed}
	if u := x.LastUsage(); u != nil && (u.InputTokens != nil || u.OutputTokens != nil) {
		d.TokensUsed = *event.Sum(event.Sum(u.InputTokens, u.OutputTokens), new(int64))
	}
	if !x.calls.finish(&d) {
		was := x.approver.replayed[r.CallID].Call // from before a crash
		d.Tool, d.Turn = was.Tool, was.Turn
	}
	var err error
	d.Result, d.ResultRef, err = x.inlineOrStore(r.Result, "result")
	return x.Event(event.ToolResult, d), err
}
