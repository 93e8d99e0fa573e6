package serve

import (
	"errors"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// listen delivers the kernel's messages to the waiting calls. It ignores verdicts and
// acknowledgements without a waiting call, a second start, and unknown messages.
func (x *exchange) listen() {
	defer x.close()
	for {
		m, err := x.stream.Recv()
		if err != nil {
			return // the kernel closed its side, or the stream's context has the reason
		}
		switch {
		case m.GetVerdict() != nil:
			x.deliverVerdict(wire.Decode[sdk.Verdict](m.GetVerdict()))
		case m.GetCheckpointStored() != nil:
			x.deliverStored(m.GetCheckpointStored().GetTurn())
		case m.GetCancel() != nil:
			x.cancel(cancelCause(m.GetCancel().GetReason()))
		}
	}
}

// expectVerdict registers a call that waits for its verdict.
func (x *exchange) expectVerdict(id string) (<-chan sdk.Verdict, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case id == "":
		return nil, errors.New("the tool call has no id")
	case x.closed:
		return nil, errClosed
	case x.verdicts[id] != nil:
		return nil, failure.New(failure.ProviderFailed, "tool call %s already waits for its verdict; ids are unique in an attempt", id)
	}
	verdict := make(chan sdk.Verdict, 1)
	x.verdicts[id] = verdict
	return verdict, nil
}

func (x *exchange) forgetVerdict(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.verdicts, id)
}

func (x *exchange) deliverVerdict(v sdk.Verdict) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if waiting := x.verdicts[v.CallID]; waiting != nil {
		waiting <- v
		delete(x.verdicts, v.CallID)
	}
}

// expectStored registers a checkpoint that waits for its acknowledgement.
func (x *exchange) expectStored(turn int32) (<-chan struct{}, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errClosed
	}
	stored := make(chan struct{}, 1)
	x.stored[turn] = append(x.stored[turn], stored)
	return stored, nil
}

func (x *exchange) deliverStored(turn int32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if waiting := x.stored[turn]; len(waiting) > 0 {
		waiting[0] <- struct{}{}
		x.stored[turn] = waiting[1:]
	}
}

// close ends all waits, because the kernel sends no more messages.
func (x *exchange) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	for id, waiting := range x.verdicts {
		close(waiting)
		delete(x.verdicts, id)
	}
	for turn, waiting := range x.stored {
		for _, stored := range waiting {
			close(stored)
		}
		delete(x.stored, turn)
	}
}
