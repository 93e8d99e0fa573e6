package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// act makes the unanswered calls of the last reply and saves their results. It returns the claim that ends the attempt,
// or nil if there is no claim or the claim does not hold.
func (l *loop) act(ctx context.Context) (*claim, error) {
	t := l.conversation.lastTurn()
	if t == nil {
		return nil, nil //nolint:nilnil // there is no claim
	}
	if len(t.Reply.Calls) == 0 {
		return l.finish.textClaim(t, l.conversation.SilentReplies), nil
	}
	if !t.isPending() {
		return nil, nil //nolint:nilnil // there is no claim
	}
	if err := cmp.Or(l.makeCalls(ctx, t), l.conversation.checkViolations(l.Request.Tools)); err != nil {
		return nil, err
	}
	end, err := l.checkFinish(ctx, t)
	if err != nil || end != nil {
		return end, err
	}
	t.remind(l.limit - t.N)
	if n, _ := l.conversation.repetitions(); n > 1 && n == l.IdenticalTurns-1 {
		t.addNote(sameAgain)
	}
	l.conversation.trim()
	return nil, l.save(ctx)
}

// makeCalls makes all calls except finish: consecutive reads in parallel, everything else alone and in order.
func (l *loop) makeCalls(ctx context.Context, t *turn) error {
	l.Tools.Keep(l.conversation.readKeys())
	var batch []*pendingCall
	for i, call := range t.Reply.Calls {
		if t.Results[i].Done || call.Name == finishTool {
			continue
		}
		if call.Name == l.finish.handover {
			l.handOver(t, i)
			continue
		}
		a := l.prepare(t, i)
		if !a.isExclusive() {
			batch = append(batch, a)
			continue
		}
		for _, b := range [][]*pendingCall{batch, {a}} {
			if err := l.perform(ctx, t, b); err != nil {
				return err
			}
		}
		batch = nil
	}
	return l.perform(ctx, t, batch)
}

// prepare checks a call and decides whether the call is made, resumed or refused.
func (l *loop) prepare(t *turn, i int) *pendingCall {
	call, id := t.Reply.Calls[i], callID(t, i)
	wrong := func(format string, args ...any) *pendingCall {
		return &pendingCall{i: i, refusal: tool.InvalidArgs(format, args...)}
	}
	known, again := l.resumedCalls[id]
	switch {
	case known.Result != nil:
		return &pendingCall{i: i, resumed: &known}
	case t.Results[i].HasSecret && l.comesFromCheckpoint(t.N):
		return wrong("the run was interrupted, and this call's arguments held a secret that no checkpoint keeps. " +
			"The call may have been made. Check, then repeat the call if it is needed.")
	case i >= maxCalls:
		return wrong("not made: more than %d calls in one reply", maxCalls)
	case call.Malformed != "":
		return wrong("the arguments are not a JSON object: %s", call.Malformed)
	}
	prepared, refusal := l.Tools.Prepare(call.Name, call.Args, again)
	prepared.CallID, prepared.Turn = id, t.N
	return &pendingCall{i: i, prepared: prepared, refusal: refusal}
}

// perform requests the verdicts on calls in order, makes the allowed calls in parallel, and reports each when it ends.
func (l *loop) perform(ctx context.Context, t *turn, batch []*pendingCall) error {
	if err := l.conversation.checkViolations(l.Request.Tools); err != nil {
		return err
	}
	for _, a := range batch {
		if err := l.requestVerdict(ctx, t, a); err != nil {
			return err
		}
	}
	var running sync.WaitGroup
	for _, a := range batch {
		if a.verdict.Action == sdk.VerdictRun {
			running.Go(func() {
				a.result = a.prepared.Run(ctx)
				l.Exchange.Result(sdk.ToolResult{CallID: a.prepared.CallID, Status: a.result.Status, Result: a.result.Data})
			})
		}
	}
	running.Wait()
	for _, a := range batch {
		if a.refusal == nil && a.resumed == nil {
			l.recordVerdict(t, a)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// requestVerdict answers a call that is not made. For any other call it requests the kernel's verdict.
func (l *loop) requestVerdict(ctx context.Context, t *turn, a *pendingCall) (err error) {
	switch {
	case a.resumed != nil:
		l.recordResult(t, a.i, a.resumed.Call, *a.resumed.Result, "")
	case a.refusal != nil:
		l.refuse(t, a.i, a.refusal)
	default:
		l.progress(progressText(a.prepared.ToolCall), a.prepared.Tool)
		a.verdict, err = l.Exchange.Call(ctx, a.prepared.ToolCall)
	}
	return err
}

// recordVerdict records the verdict on a call and the call's result.
func (l *loop) recordVerdict(t *turn, a *pendingCall) {
	call := a.prepared.ToolCall
	result := verdictResult(call.CallID, a.verdict, a.result)
	switch {
	case a.verdict.Action != sdk.VerdictRun:
		l.Exchange.Result(result)
	case a.verdict.Reason != "":
		t.Note = strings.TrimPrefix(t.Note+"\nThe user allowed "+call.Tool+" with the note: "+a.verdict.Reason, "\n")
	}
	l.conversation.recordChanges(a.result.Changed)
	l.recordResult(t, a.i, call, result, a.result.Key)
}

// verdictResult returns the result of a call by its verdict. The result of the tool counts only for the verdict "run".
func verdictResult(id string, v sdk.Verdict, made tool.Result) sdk.ToolResult {
	result := sdk.ToolResult{CallID: id, Status: made.Status, Result: made.Data}
	refusal := tool.Refusal{Code: tool.CodeDenied, Message: "not allowed: " + v.Reason}
	switch {
	case v.Action == sdk.VerdictRun:
		return result
	case v.Action == sdk.VerdictUse && v.Result != nil:
		result.Status, result.Result = v.Result.Status, v.Result.Result
		return result
	case v.Action == sdk.VerdictSkip:
		refusal = tool.Refusal{Message: "skipped by the user or the policy; continue without it: " + v.Reason}
	}
	result.Status, result.Result = sdk.ToolDenied, refusal.Data()
	return result
}

// recordResult adds a result to the conversation.
func (l *loop) recordResult(t *turn, i int, call sdk.ToolCall, result sdk.ToolResult, key string) {
	m := callRecord{Status: result.Status, Text: cmp.Or(string(result.Result), "{}")}
	l.conversation.recordRefusal(errorCode(result.Result))
	if result.Status == sdk.ToolSuccess {
		if call.Tool != terminalTool || exitCode(result.Result) == 0 {
			l.conversation.recordSuccess(call.Tool)
		}
		if isWrite(call.Category) {
			l.conversation.recordChanges(call.Paths)
		}
	}
	if key != "" && !slices.Contains(l.conversation.readKeys(), key) { // a known key means that the result was "unchanged"
		m.ReadKey = key
	}
	t.record(i, m)
}

// refuse answers a call that needs no verdict of the kernel; the journal still records it.
func (l *loop) refuse(t *turn, i int, r *tool.Refusal) {
	l.conversation.recordRefusal(r.Code)
	l.recordObserved(t, i, r.Status, r.Data())
}

// recordObserved reports a call without a verdict, and adds its result to the conversation.
func (l *loop) recordObserved(t *turn, i int, status sdk.ToolStatus, result json.RawMessage) {
	call, id := t.Reply.Calls[i], callID(t, i)
	l.Exchange.Observe(sdk.ToolCall{CallID: id, Tool: call.Name, Args: call.Args, Effect: sdk.EffectNone, Turn: t.N})
	l.Exchange.ObserveResult(sdk.ToolResult{CallID: id, Status: status, Result: result})
	t.record(i, callRecord{Status: status, Text: string(result)})
}

// handOver answers the i-th call of a turn, which hands over the artifact. A faulty artifact is sent back with its
// faults. The kernel gets faulty and accepted calls, and uses the arguments of the last successful call. The call has
// no effect and needs no verdict.
func (l *loop) handOver(t *turn, i int) {
	call := t.Reply.Calls[i]
	wrong := call.Malformed
	switch {
	case t.Results[i].HasSecret && l.comesFromCheckpoint(t.N):
		wrong = "the run was interrupted, and it held a secret that no checkpoint keeps; hand it over again, without the secret if possible"
	case wrong == "" && l.finish.artifactSchema != nil:
		wrong = l.finish.artifactSchema.Faults(call.Args)
	}
	if wrong != "" {
		l.refuse(t, i, tool.InvalidArgs("the artifact is not accepted:\n%s", wrong))
		return
	}
	l.conversation.Artifact = call.Args
	l.conversation.recordSuccess(call.Name)
	l.recordObserved(t, i, sdk.ToolSuccess, json.RawMessage(`{"taken":true}`))
}
