package wire

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// OutputPB encodes a piece of output, byte for byte.
func OutputPB(c sdk.OutputChunk) *pb.OutputChunk {
	return &pb.OutputChunk{Stream: toEnum[pb.Stream](c.Stream), Data: []byte(c.Text)}
}

// FromOutput decodes a piece of output.
func FromOutput(m *pb.OutputChunk) sdk.OutputChunk {
	return sdk.OutputChunk{Stream: fromEnum(m.GetStream(), sdk.StreamText), Text: string(m.GetData())}
}

// ProgressPB encodes a progress snapshot.
func ProgressPB(p sdk.Progress) *pb.Progress {
	return &pb.Progress{Message: text(p.Message), Turn: clampInt32(p.Turn), Tool: text(p.Tool)}
}

// FromProgress decodes a progress snapshot.
func FromProgress(m *pb.Progress) sdk.Progress {
	return sdk.Progress{Message: m.GetMessage(), Turn: int(m.GetTurn()), Tool: m.GetTool()}
}

// CallPB encodes a tool call.
func CallPB(c sdk.ToolCall) *pb.ToolCall {
	return &pb.ToolCall{
		CallId:   text(c.CallID),
		Tool:     text(c.Tool),
		Args:     jsonBytes(c.Args),
		Effect:   toEnum[pb.Effect](c.Effect),
		Turn:     clampInt32(c.Turn),
		Category: text(string(c.Category)),
		Paths:    texts(c.Paths),
		Command:  text(c.Command),
		Preview:  text(c.Preview),
		Reason:   text(c.Reason),
	}
}

// FromCall decodes a tool call.
func FromCall(m *pb.ToolCall) sdk.ToolCall {
	return sdk.ToolCall{
		CallID:   m.GetCallId(),
		Tool:     m.GetTool(),
		Args:     fromJSON(m.GetArgs()),
		Effect:   fromEnum(m.GetEffect(), sdk.EffectOnce),
		Turn:     int(m.GetTurn()),
		Category: sdk.Category(m.GetCategory()),
		Paths:    m.GetPaths(),
		Command:  m.GetCommand(),
		Preview:  m.GetPreview(),
		Reason:   m.GetReason(),
	}
}

// ToolResultPB encodes the result of a tool call; observed marks the result of an observed call.
func ToolResultPB(r sdk.ToolResult, observed bool) *pb.ToolResult {
	return &pb.ToolResult{
		CallId:   text(r.CallID),
		Status:   toEnum[pb.ToolStatus](r.Status),
		Result:   jsonBytes(r.Result),
		Observed: observed,
	}
}

// FromToolResult decodes the result of a tool call and reports whether the call was observed.
func FromToolResult(m *pb.ToolResult) (sdk.ToolResult, bool) {
	return sdk.ToolResult{
		CallID: m.GetCallId(),
		Status: fromEnum(m.GetStatus(), sdk.ToolError),
		Result: fromJSON(m.GetResult()),
	}, m.GetObserved()
}

func resultPtrPB(r *sdk.ToolResult) *pb.ToolResult {
	if r == nil {
		return nil
	}
	return ToolResultPB(*r, false)
}

func fromResultPtr(m *pb.ToolResult) *sdk.ToolResult {
	if m == nil {
		return nil
	}
	r, _ := FromToolResult(m)
	return &r
}

// VerdictPB encodes the verdict on a gated call.
func VerdictPB(v sdk.Verdict) *pb.ToolVerdict {
	return &pb.ToolVerdict{
		CallId: text(v.CallID),
		Action: toEnum[pb.VerdictAction](v.Action),
		Reason: text(v.Reason),
		Result: resultPtrPB(v.Result),
	}
}

// FromVerdict decodes the verdict on a gated call. VerdictUse without a result denies, as does an
// unknown action.
func FromVerdict(m *pb.ToolVerdict) sdk.Verdict {
	v := sdk.Verdict{
		CallID: m.GetCallId(),
		Action: fromEnum(m.GetAction(), sdk.VerdictDeny),
		Reason: m.GetReason(),
		Result: fromResultPtr(m.GetResult()),
	}
	if v.Action == sdk.VerdictUse && v.Result == nil {
		v.Action, v.Reason = sdk.VerdictDeny, "the kernel's verdict is use, without a result"
	}
	return v
}

// CheckpointPB encodes a checkpoint.
func CheckpointPB(c sdk.Checkpoint) *pb.Checkpoint {
	return &pb.Checkpoint{Turn: clampInt32(c.Turn), Blob: c.Blob}
}

// FromCheckpoint decodes a checkpoint.
func FromCheckpoint(m *pb.Checkpoint) sdk.Checkpoint {
	return sdk.Checkpoint{Turn: int(m.GetTurn()), Blob: m.GetBlob()}
}

// UsagePB encodes the totals so far.
func UsagePB(u sdk.Usage) *pb.Usage {
	return &pb.Usage{
		InputTokens:      u.InputTokens,
		OutputTokens:     u.OutputTokens,
		CacheReadTokens:  u.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens,
		ReasoningTokens:  u.ReasoningTokens,
		CostUsd:          u.CostUSD,
	}
}

// FromUsage decodes the totals so far. A cost that JSON cannot hold is unknown.
func FromUsage(m *pb.Usage) sdk.Usage {
	u := sdk.Usage{
		InputTokens:      m.InputTokens,
		OutputTokens:     m.OutputTokens,
		CacheReadTokens:  m.CacheReadTokens,
		CacheWriteTokens: m.CacheWriteTokens,
		ReasoningTokens:  m.ReasoningTokens,
		CostUSD:          m.CostUsd,
	}
	if u.CostUSD != nil && finite(*u.CostUSD) != *u.CostUSD {
		u.CostUSD = nil
	}
	return u
}

func usagePtrPB(u *sdk.Usage) *pb.Usage {
	if u == nil {
		return nil
	}
	return UsagePB(*u)
}

func fromUsagePtr(m *pb.Usage) *sdk.Usage {
	if m == nil {
		return nil
	}
	u := FromUsage(m)
	return &u
}
