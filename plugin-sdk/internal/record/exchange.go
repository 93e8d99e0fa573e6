package record

import (
	"cmp"
	"context"
	"strings"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Exchange records a provider's reports and answers its gated calls. The zero value lets every call
// run and stores every checkpoint. Set the fields before the first use; the methods are safe for
// concurrent use.
type Exchange struct {
	// Verdicts are the answers to gated calls by call ID. Other calls get Default.
	Verdicts map[string]sdk.Verdict
	// Default is the answer to calls without an entry in Verdicts. The zero value means run.
	Default sdk.Verdict
	// OnCall, OnCheckpoint and OnOutput are called after recording and before the answer. An error
	// of the first two is returned to the provider. Default: nil, no call.
	OnCall       func(sdk.ToolCall) error
	OnCheckpoint func(sdk.Checkpoint) error
	OnOutput     func(sdk.OutputChunk)

	mu  sync.Mutex
	log Record
}

// Record is the list of all reports, each kind in order of arrival.
type Record struct {
	Output          []sdk.OutputChunk
	Progress        []sdk.Progress
	Observed        []sdk.ToolCall
	ObservedResults []sdk.ToolResult
	Calls           []sdk.ToolCall // gated
	Results         []sdk.ToolResult
	Usage           []sdk.Usage
	Checkpoints     []sdk.Checkpoint
}

// Text returns the concatenated output of one stream.
func (r Record) Text(stream sdk.Stream) string {
	var b strings.Builder
	for _, chunk := range r.Output {
		if chunk.Stream == stream {
			b.WriteString(chunk.Text)
		}
	}
	return b.String()
}

var _ sdk.Exchange = (*Exchange)(nil)

// Record returns the reports so far. The caller must not append to its lists.
func (x *Exchange) Record() Record {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log
}

// Output implements sdk.Exchange.
func (x *Exchange) Output(chunk sdk.OutputChunk) {
	x.note(func(r *Record) { r.Output = append(r.Output, chunk) })
	if x.OnOutput != nil {
		x.OnOutput(chunk)
	}
}

// Progress implements sdk.Exchange.
func (x *Exchange) Progress(p sdk.Progress) {
	x.note(func(r *Record) { r.Progress = append(r.Progress, p) })
}

// Observe implements sdk.Exchange.
func (x *Exchange) Observe(call sdk.ToolCall) {
	x.note(func(r *Record) { r.Observed = append(r.Observed, call) })
}

// ObserveResult implements sdk.Exchange.
func (x *Exchange) ObserveResult(result sdk.ToolResult) {
	x.note(func(r *Record) { r.ObservedResults = append(r.ObservedResults, result) })
}

// Call implements sdk.Exchange.
func (x *Exchange) Call(ctx context.Context, call sdk.ToolCall) (sdk.Verdict, error) {
	x.note(func(r *Record) { r.Calls = append(r.Calls, call) })
	if x.OnCall != nil {
		if err := x.OnCall(call); err != nil {
			return sdk.Verdict{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return sdk.Verdict{}, err
	}
	verdict, ok := x.Verdicts[call.CallID]
	if !ok {
		verdict = x.Default
	}
	verdict.Action = cmp.Or(verdict.Action, sdk.VerdictRun)
	verdict.CallID = call.CallID
	return verdict, nil
}

// Result implements sdk.Exchange.
func (x *Exchange) Result(result sdk.ToolResult) {
	x.note(func(r *Record) { r.Results = append(r.Results, result) })
}

// Usage implements sdk.Exchange.
func (x *Exchange) Usage(u sdk.Usage) {
	x.note(func(r *Record) { r.Usage = append(r.Usage, u) })
}

// Checkpoint implements sdk.Exchange.
func (x *Exchange) Checkpoint(ctx context.Context, c sdk.Checkpoint) error {
	x.note(func(r *Record) { r.Checkpoints = append(r.Checkpoints, c) })
	if x.OnCheckpoint != nil {
		if err := x.OnCheckpoint(c); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (x *Exchange) note(add func(*Record)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	add(&x.log)
}
