package proof

import (
	"context"
	"errors"
	"slices"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// kernel is a minimal kernel. It journals before it answers, and dies after a number of entries, so
// that all answers fail and nothing more is journaled.
type kernel struct {
	mu      sync.Mutex
	journal []entry
	lives   int // entries before the death; negative: unlimited
	kill    context.CancelFunc
}

// entry is one line of the journal. Exactly one of its fields is set.
type entry struct {
	call       *sdk.ToolCall
	result     *sdk.ToolResult
	checkpoint *sdk.Checkpoint
}

var errDead = errors.New("the kernel is dead")

// write journals an entry. The kernel dies after the write and before the answer.
func (k *kernel) write(e entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lives == 0 {
		return errDead
	}
	k.journal = append(k.journal, e)
	k.lives--
	if k.lives == 0 {
		k.kill()
		return errDead
	}
	return nil
}

// Call journals the call and then answers. A call that is already in the journal was interrupted. An
// interrupted call with effect once is not repeated.
func (k *kernel) Call(_ context.Context, call sdk.ToolCall) (sdk.Verdict, error) {
	cutOff := k.knows(call.CallID)
	if err := k.write(entry{call: &call}); err != nil {
		return sdk.Verdict{}, err
	}
	switch {
	case call.Tool == "forbidden":
		return sdk.Verdict{Action: sdk.VerdictDeny, Reason: "not here"}, nil
	case cutOff && call.Effect == sdk.EffectOnce:
		answer := sdk.ToolResult{CallID: call.CallID, Status: sdk.ToolError, Result: quote("cut off; it may have happened")}
		return sdk.Verdict{Action: sdk.VerdictUse, Result: &answer}, nil
	default:
		return sdk.Verdict{Action: sdk.VerdictRun}, nil
	}
}

func (k *kernel) knows(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.journal, func(e entry) bool { return e.call != nil && e.call.CallID == id })
}

func (k *kernel) Result(r sdk.ToolResult) { _ = k.write(entry{result: &r}) }

func (k *kernel) Checkpoint(_ context.Context, c sdk.Checkpoint) error {
	return k.write(entry{checkpoint: &c})
}

func (*kernel) Output(sdk.OutputChunk)       {}
func (*kernel) Progress(sdk.Progress)        {}
func (*kernel) Observe(sdk.ToolCall)         {}
func (*kernel) ObserveResult(sdk.ToolResult) {}
func (*kernel) Usage(sdk.Usage)              {}

// resume returns the newest checkpoint and the later calls with their results.
func (k *kernel) resume() *sdk.Resume {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := &sdk.Resume{}
	for _, e := range k.journal {
		switch {
		case e.checkpoint != nil:
			*r = sdk.Resume{Checkpoint: *e.checkpoint}
		case e.call != nil:
			if at(r.Calls, e.call.CallID) < 0 {
				r.Calls = append(r.Calls, sdk.ResumedCall{Call: *e.call})
			}
		case e.result != nil:
			if i := at(r.Calls, e.result.CallID); i >= 0 {
				r.Calls[i].Result = e.result
			}
		}
	}
	return r
}

func at(calls []sdk.ResumedCall, id string) int {
	return slices.IndexFunc(calls, func(c sdk.ResumedCall) bool { return c.Call.CallID == id })
}
