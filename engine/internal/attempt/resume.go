package attempt

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func (a *attempt) loop() state.Loop {
	l := a.state.LoopAt(a.command.Location)
	if failpoint.Defect(failpoint.SkipDedupe) {
		l.Calls, l.Checkpoint = nil, nil
	}
	return l
}

// resumeData returns the checkpoint and calls of an attempt that a crash interrupted, nil for any other.
func (a *attempt) resumeData() (*sdk.Resume, error) {
	l := a.loop()
	if l.Checkpoint == nil && len(l.Calls) == 0 {
		return nil, nil //nolint:nilnil // nothing to resume
	}
	r := &sdk.Resume{}
	if l.Checkpoint != nil {
		blob, err := a.Dir.ReadRef(l.Checkpoint.Blob)
		if err != nil {
			return nil, err
		}
		r.Checkpoint = sdk.Checkpoint{Turn: l.Checkpoint.Turn, Blob: blob}
	}
	for _, c := range l.Calls {
		call, err := a.resumedCall(c)
		if err != nil {
			return nil, err
		}
		r.Calls = append(r.Calls, call)
	}
	return r, nil
}

func (a *attempt) resumedCall(c state.Call) (sdk.ResumedCall, error) {
	args, err := a.readPayload(c.Call.Args, c.Call.ArgsRef)
	if err != nil {
		return sdk.ResumedCall{}, err
	}
	call := sdk.ResumedCall{Call: sdk.ToolCall{
		CallID: c.Call.CallID, Tool: c.Call.Tool, Args: args, Effect: sdk.Effect(c.Call.Effect), Turn: c.Call.Turn,
		Category: sdk.Category(c.Call.Category), Paths: c.Call.Paths, Command: c.Call.Command,
	}}
	if c.Result != nil {
		call.Result, err = a.toolResult(c.Result)
	}
	return call, err
}

func (a *attempt) toolResult(d *event.ToolResultData) (*sdk.ToolResult, error) {
	result, err := a.readPayload(d.Result, d.ResultRef)
	return &sdk.ToolResult{CallID: d.CallID, Status: sdk.ToolStatus(d.Status), Result: result}, err
}

func (a *attempt) readPayload(raw []byte, ref *event.Ref) ([]byte, error) {
	if ref == nil {
		return raw, nil
	}
	return a.Dir.ReadRef(*ref)
}
