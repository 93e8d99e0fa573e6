package mock

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// makeToolCalls makes the tool calls. A resumed attempt skips the calls before its checkpoint and finished calls, and
// repeats the request of an interrupted call.
func (p *performance) makeToolCalls(ctx context.Context) error {
	first, finished, err := p.resumePoint()
	if err != nil {
		return err
	}
	for i, call := range p.reply.ToolCalls {
		call.CallID = cmp.Or(call.CallID, fmt.Sprintf("call-%d", i+1))
		if i < first || finished[call.CallID] {
			continue
		}
		if err := p.makeCall(ctx, call); err != nil {
			return err
		}
		if call.Checkpoint {
			if err := p.saveCheckpoint(ctx, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveCheckpoint saves a checkpoint after a number of calls.
func (p *performance) saveCheckpoint(ctx context.Context, calls int) error {
	blob, err := json.Marshal(checkpointBlob{NextCall: calls})
	if err != nil {
		return fmt.Errorf("mock: encode the checkpoint: %w", err)
	}
	return p.exchange.Checkpoint(ctx, sdk.Checkpoint{Turn: calls, Blob: blob})
}

// resumePoint returns the index of the first call to make and the ids of later calls that are finished.
func (p *performance) resumePoint() (first int, finished map[string]bool, err error) {
	if p.req.Resume == nil {
		return 0, nil, nil
	}
	var s checkpointBlob
	if blob := p.req.Resume.Checkpoint.Blob; len(blob) > 0 {
		if err := json.Unmarshal(blob, &s); err != nil {
			return 0, nil, failure.New(failure.ProviderFailed, "mock: read the checkpoint: %w", err)
		}
	}
	finished = make(map[string]bool)
	for _, c := range p.req.Resume.Calls {
		finished[c.Call.CallID] = c.Result != nil
	}
	return s.NextCall, finished, nil
}

// makeCall makes one call, after the verdict if the call is gated.
func (p *performance) makeCall(ctx context.Context, call ToolCall) error {
	if !call.Gated {
		p.exchange.Observe(call.call())
		return p.performCall(ctx, call, p.exchange.ObserveResult)
	}
	verdict, err := p.exchange.Call(ctx, call.call())
	if err != nil {
		return fmt.Errorf("mock: tool call %s: %w", call.CallID, err)
	}
	if err := p.reportVerdict(call, verdict); err != nil {
		return err
	}
	if verdict.Action == sdk.VerdictRun {
		return p.performCall(ctx, call, p.exchange.Result)
	}
	p.exchange.Result(resultWithoutCall(call, verdict))
	if verdict.Action == sdk.VerdictDeny && call.OnDeny == denyFail {
		return failure.New(failure.ApprovalDenied, "mock: tool call %s (%s) was denied: %s", call.CallID, call.Tool, verdict.Reason)
	}
	return nil
}

// performCall performs the effects of the call and reports its result.
func (p *performance) performCall(ctx context.Context, call ToolCall, report func(sdk.ToolResult)) error {
	if err := p.pause(ctx, milliseconds(call.DelayMS)); err != nil {
		return err
	}
	if call.CountFile != "" {
		if err := appendLine(absolutePath(p.req.WorkDir, call.CountFile), p.req.Key+" "+call.CallID); err != nil {
			return err
		}
	}
	report(call.result())
	return nil
}

// reportVerdict writes the verdict to the raw stream, where a test can read it.
func (p *performance) reportVerdict(call ToolCall, v sdk.Verdict) error {
	line, err := json.Marshal(struct {
		Type   string            `json:"type"`
		CallID string            `json:"call_id"`
		Tool   string            `json:"tool"`
		Action sdk.VerdictAction `json:"action"`
		Reason string            `json:"reason,omitempty"`
	}{"tool_verdict", call.CallID, call.Tool, v.Action, v.Reason})
	if err != nil {
		return fmt.Errorf("mock: %w", err)
	}
	p.exchange.Output(sdk.OutputChunk{Stream: sdk.StreamRaw, Text: string(line) + "\n"})
	return nil
}
