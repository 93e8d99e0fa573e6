package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// loop is a provider with its own tool loop. Its model is a script: each turn requests tools
// concurrently and gets their results before the next turn.
type loop struct {
	script [][]sdk.ToolCall
	world  *world
}

// world is the state that the tools change: it counts the executions of each call. It survives the
// provider, as files and services do.
type world struct {
	mu    sync.Mutex
	times map[string]int
}

func (w *world) act(call sdk.ToolCall) json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times[call.CallID]++
	return fmt.Appendf(nil, `"%s did it"`, call.CallID)
}

// memory is the checkpoint: the conversation up to the end of a turn.
type memory struct {
	Turn       int      `json:"turn"`
	Transcript []string `json:"transcript"`
}

func (loop) Describe() sdk.Component {
	return sdk.Component{Name: "loop", Provider: &sdk.ProviderTraits{GatedTools: true}}
}

func (l loop) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	m, known, err := recall(req.Resume)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	for m.Turn < len(l.script) {
		outputs, err := l.turn(ctx, l.script[m.Turn], known, x)
		if err != nil {
			return sdk.ExecuteResult{}, err
		}
		m.Turn++
		m.Transcript = append(m.Transcript, outputs...)
		x.Progress(sdk.Progress{Turn: m.Turn})
		blob, err := json.Marshal(m)
		if err != nil {
			return sdk.ExecuteResult{}, err
		}
		if err := x.Checkpoint(ctx, sdk.Checkpoint{Turn: m.Turn, Blob: blob}); err != nil {
			return sdk.ExecuteResult{}, err
		}
	}
	return sdk.ExecuteResult{Output: strings.Join(m.Transcript, "\n")}, nil
}

// recall returns the state of an interrupted attempt: the memory, and the results of later calls.
func recall(r *sdk.Resume) (memory, map[string]sdk.ToolResult, error) {
	var m memory
	known := map[string]sdk.ToolResult{}
	if r == nil {
		return m, known, nil
	}
	for _, c := range r.Calls {
		if c.Result != nil {
			known[c.Call.CallID] = *c.Result
		}
	}
	if len(r.Checkpoint.Blob) == 0 {
		return m, known, nil
	}
	if err := json.Unmarshal(r.Checkpoint.Blob, &m); err != nil {
		return m, nil, failure.New(failure.ProviderFailed, "read the checkpoint: %w", err)
	}
	return m, known, nil
}

// turn makes the calls of one turn concurrently and returns the model's input, in the order of the
// calls.
func (l loop) turn(ctx context.Context, calls []sdk.ToolCall, known map[string]sdk.ToolResult, x sdk.Exchange) ([]string, error) {
	outputs := make([]string, len(calls))
	errs := make([]error, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		if result, ok := known[call.CallID]; ok {
			outputs[i] = describe(call, result)
			continue
		}
		running.Go(func() { outputs[i], errs[i] = l.use(ctx, call, x) })
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// use requests a verdict on one call and follows it.
func (l loop) use(ctx context.Context, call sdk.ToolCall, x sdk.Exchange) (string, error) {
	verdict, err := x.Call(ctx, call)
	if err != nil {
		return "", err
	}
	result := sdk.ToolResult{CallID: call.CallID, Status: sdk.ToolSuccess}
	switch verdict.Action {
	case sdk.VerdictRun:
		result.Result = l.world.act(call)
	case sdk.VerdictUse:
		result = *verdict.Result
	case sdk.VerdictSkip:
		result.Result = json.RawMessage(`null`)
	default:
		result.Status, result.Result = sdk.ToolDenied, quote(verdict.Reason)
	}
	x.Result(result)
	return describe(call, result), nil
}

func describe(call sdk.ToolCall, r sdk.ToolResult) string {
	return fmt.Sprintf("%s: %s %s", call.CallID, r.Status, r.Result)
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return b
}
