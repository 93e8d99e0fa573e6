package client

import (
	"context"
	"errors"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// closeTimeout is the time that the plugin has to close the stream after its result.
const closeTimeout = time.Second

// attempt is the client's side of one attempt's conversation. One goroutine receives. Each message to send and
// each verdict to wait for has its own goroutine. run owns the goroutines and waits for all of them.
type attempt struct {
	label    string
	exchange sdk.Exchange
	stream   pb.Provider_ExecuteClient
	silence  time.Duration // longest silence of the plugin
	patience time.Duration // time from cancel to tear-down

	events   chan streamMessage // from the receiver
	faults   chan error         // from the exchange; further errors are dropped while one is pending
	tornDown <-chan struct{}    // closed when the stream is torn down
	workers  sync.WaitGroup

	sending sync.Mutex // one message at a time
	closed  bool       // no message may follow; guarded by sending
}

// streamMessage is one message of the plugin, or the end of the stream.
type streamMessage struct {
	event *pb.ExecuteEvent
	err   error
}

// run holds the conversation until the attempt and all its goroutines have ended.
func (a *attempt) run(ctx context.Context, tearDown context.CancelFunc) (sdk.ExecuteResult, error) {
	calls, endCalls := context.WithCancel(ctx)
	defer a.workers.Wait()
	defer tearDown()
	defer endCalls()
	a.workers.Go(a.receive)

	result, err := a.converse(ctx, calls)
	if result == nil {
		return sdk.ExecuteResult{}, unfinished{err}
	}
	endCalls()
	a.closeStream()
	r := wire.FromResult(result)
	if err == nil && r.Error != nil && r.Outcome != sdk.OutcomeEmpty { // the caller decides about an empty attempt
		err = withContextError(ctx, r.Error)
	}
	return r, err
}

// converse handles the plugin's messages until the result or until no result can come. If it
// returns a result and an error, the error comes from the exchange.
func (a *attempt) converse(ctx, calls context.Context) (*pb.ExecuteResult, error) {
	idle := time.NewTimer(a.silence)
	defer idle.Stop()
	var fault error
	var giveUp <-chan time.Time
	cancelled := ctx.Done()
	cancel := func(reason error) {
		cancelled = nil
		if giveUp == nil {
			giveUp = time.After(a.patience)
			a.post(&pb.ExecuteInput{Input: &pb.ExecuteInput_Cancel{Cancel: &pb.Cancel{Reason: reason.Error()}}})
		}
	}
	for {
		select {
		case r := <-a.events:
			if r.err != nil {
				return nil, errors.Join(fault, a.endedError(ctx, r.err))
			}
			if result := r.event.GetResult(); result != nil {
				return result, fault
			}
			a.dispatch(calls, r.event)
			idle.Reset(a.silence)
		case err := <-a.faults:
			if ctx.Err() == nil && fault == nil {
				fault = err
				cancel(err)
			}
		case <-cancelled:
			cancel(context.Cause(ctx))
		case <-idle.C:
			return nil, a.silentError(ctx)
		case <-giveUp:
			return nil, errors.Join(fault, a.stubbornError(ctx))
		}
	}
}

// dispatch passes one message to the exchange. It ignores unknown messages.
func (a *attempt) dispatch(calls context.Context, m *pb.ExecuteEvent) {
	switch e := m.GetEvent().(type) {
	case *pb.ExecuteEvent_Output:
		a.exchange.Output(wire.FromOutput(e.Output))
	case *pb.ExecuteEvent_Progress:
		a.exchange.Progress(wire.Decode[sdk.Progress](e.Progress))
	case *pb.ExecuteEvent_ObservedCall:
		a.exchange.Observe(wire.Decode[sdk.ToolCall](e.ObservedCall))
	case *pb.ExecuteEvent_ToolResult:
		if result := wire.Decode[sdk.ToolResult](e.ToolResult); e.ToolResult.GetObserved() {
			a.exchange.ObserveResult(result)
		} else {
			a.exchange.Result(result)
		}
	case *pb.ExecuteEvent_Usage:
		a.exchange.Usage(wire.Decode[sdk.Usage](e.Usage))
	case *pb.ExecuteEvent_ToolCall:
		a.workers.Go(func() { a.judge(calls, wire.Decode[sdk.ToolCall](e.ToolCall)) })
	case *pb.ExecuteEvent_Checkpoint:
		a.store(calls, e.Checkpoint)
	}
}

// judge requests the verdict on one gated call and sends it to the plugin.
func (a *attempt) judge(calls context.Context, call sdk.ToolCall) {
	verdict, err := a.exchange.Call(calls, call)
	if err != nil {
		a.fail(err)
		return
	}
	verdict.CallID = call.CallID
	a.post(&pb.ExecuteInput{Input: &pb.ExecuteInput_Verdict{Verdict: wire.Encode[pb.ToolVerdict](verdict)}})
}

// store saves a checkpoint, in order with the plugin's other reports, and confirms it to the plugin.
func (a *attempt) store(calls context.Context, m *pb.Checkpoint) {
	if err := a.exchange.Checkpoint(calls, wire.Decode[sdk.Checkpoint](m)); err != nil {
		a.fail(err)
		return
	}
	stored := &pb.CheckpointStored{Turn: m.GetTurn()}
	a.post(&pb.ExecuteInput{Input: &pb.ExecuteInput_CheckpointStored{CheckpointStored: stored}})
}

// fail passes an error of the exchange to converse, unless another error is pending.
func (a *attempt) fail(err error) {
	select {
	case a.faults <- err:
	default:
	}
}
