package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// chunkBytes is the maximum size of output in one message.
const chunkBytes = 1 << 20

// exchange is the plugin's side of one attempt's conversation.
type exchange struct {
	stream pb.Provider_ExecuteServer
	cancel context.CancelCauseFunc // cancels the attempt

	sending  sync.Mutex // one message at a time
	finished bool       // guarded by sending: the result was sent, no message may follow

	mu       sync.Mutex
	closed   bool                        // the kernel sends no more messages
	verdicts map[string]chan sdk.Verdict // waiting calls by ID
	stored   map[int32][]chan struct{}   // waiting checkpoints by turn, oldest first
}

var _ sdk.Exchange = (*exchange)(nil)

func newExchange(stream pb.Provider_ExecuteServer, cancel context.CancelCauseFunc) *exchange {
	return &exchange{
		stream:   stream,
		cancel:   cancel,
		verdicts: map[string]chan sdk.Verdict{},
		stored:   map[int32][]chan struct{}{},
	}
}

// Output implements sdk.Exchange. It splits long text.
func (x *exchange) Output(chunk sdk.OutputChunk) {
	for text := chunk.Text; text != ""; {
		n := min(len(text), chunkBytes)
		piece := wire.OutputPB(sdk.OutputChunk{Stream: chunk.Stream, Text: text[:n]})
		x.report(&pb.ExecuteEvent{Event: &pb.ExecuteEvent_Output{Output: piece}})
		text = text[n:]
	}
}

// Progress implements sdk.Exchange.
func (x *exchange) Progress(p sdk.Progress) {
	x.report(&pb.ExecuteEvent{Event: &pb.ExecuteEvent_Progress{Progress: wire.Encode[pb.Progress](p)}})
}

// Observe implements sdk.Exchange. It replaces arguments over the message limit by a note.
func (x *exchange) Observe(call sdk.ToolCall) {
	event := &pb.ExecuteEvent{Event: &pb.ExecuteEvent_ObservedCall{ObservedCall: wire.Encode[pb.ToolCall](call)}}
	if size := proto.Size(event); size > wire.MaxMessage {
		event.GetObservedCall().Args = omitted("arguments", size)
	}
	x.report(event)
}

// ObserveResult implements sdk.Exchange.
func (x *exchange) ObserveResult(result sdk.ToolResult) { x.reportResult(result, true) }

// Result implements sdk.Exchange.
func (x *exchange) Result(result sdk.ToolResult) { x.reportResult(result, false) }

func (x *exchange) reportResult(result sdk.ToolResult, observed bool) {
	event := &pb.ExecuteEvent{Event: &pb.ExecuteEvent_ToolResult{ToolResult: wire.ToolResultPB(result, observed)}}
	if size := proto.Size(event); size > wire.MaxMessage {
		event.GetToolResult().Result = omitted("result", size)
	}
	x.report(event)
}

// Usage implements sdk.Exchange.
func (x *exchange) Usage(u sdk.Usage) {
	x.report(&pb.ExecuteEvent{Event: &pb.ExecuteEvent_Usage{Usage: wire.Encode[pb.Usage](u)}})
}

// Call implements sdk.Exchange.
func (x *exchange) Call(ctx context.Context, call sdk.ToolCall) (sdk.Verdict, error) {
	verdict, err := x.expectVerdict(call.CallID)
	if err != nil {
		return sdk.Verdict{}, err
	}
	defer x.forgetVerdict(call.CallID)
	event := &pb.ExecuteEvent{Event: &pb.ExecuteEvent_ToolCall{ToolCall: wire.Encode[pb.ToolCall](call)}}
	if size := proto.Size(event); size > wire.MaxMessage {
		return sdk.Verdict{}, tooLarge("tool call "+call.CallID, size)
	}
	if err := x.send(event); err != nil {
		return sdk.Verdict{}, err
	}
	return await(ctx, x, verdict)
}

// Checkpoint implements sdk.Exchange.
func (x *exchange) Checkpoint(ctx context.Context, c sdk.Checkpoint) error {
	message := wire.Encode[pb.Checkpoint](c)
	event := &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Checkpoint{Checkpoint: message}}
	if size := proto.Size(event); size > wire.MaxMessage {
		return tooLarge("the checkpoint", size)
	}
	stored, err := x.expectStored(message.GetTurn())
	if err != nil {
		return err
	}
	if err := x.send(event); err != nil {
		return err
	}
	_, err = await(ctx, x, stored)
	return err
}

// await waits for the kernel's answer to a call or a checkpoint.
func await[T any](ctx context.Context, x *exchange, answer <-chan T) (none T, err error) {
	select {
	case a, ok := <-answer:
		if !ok {
			return none, errClosed
		}
		return a, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-x.stream.Context().Done():
		return none, context.Cause(x.stream.Context())
	}
}

// omitted returns the replacement for JSON over the message limit.
func omitted(name string, size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"left_out":"%s of about %d bytes, over the protocol's limit of %d MiB"}`,
		name, size, wire.MaxMessage>>20))
}

// report sends an event and ignores the error: a lost connection cancels the attempt.
func (x *exchange) report(event *pb.ExecuteEvent) { _ = x.send(event) }

// send sends one message and blocks while the kernel is slow. After the result it returns
// errClosed.
func (x *exchange) send(event *pb.ExecuteEvent) error {
	x.sending.Lock()
	defer x.sending.Unlock()
	if x.finished {
		return errClosed
	}
	if err := x.stream.Send(event); err != nil {
		x.cancel(fmt.Errorf("the connection to the kernel is lost: %w", err))
		return err
	}
	return nil
}

// finish sends the result, which is the last message.
func (x *exchange) finish(result *pb.ExecuteResult) error {
	x.sending.Lock()
	defer x.sending.Unlock()
	x.finished = true
	return x.stream.Send(resultEvent(result))
}

// sendHeartbeats sends a heartbeat at the interval until stop is called. stop waits for the last heartbeat.
func (x *exchange) sendHeartbeats(every time.Duration) (stop func()) {
	var heartbeats sync.WaitGroup
	done := make(chan struct{})
	heartbeats.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				x.report(&pb.ExecuteEvent{Event: &pb.ExecuteEvent_Heartbeat{Heartbeat: &pb.Heartbeat{}}})
			case <-done:
				return
			}
		}
	})
	return func() { close(done); heartbeats.Wait() }
}

// tooLarge returns the failure for data over the message limit.
func tooLarge(name string, size int) *failure.Error {
	f := failure.New(failure.ProviderFailed, "%s of %d bytes is over the protocol's limit of %d MiB", name, size, wire.MaxMessage>>20)
	f.Retryable = false
	return f.WithHint("write it to a file in the attempt's directory (Paths.Attempt) and name the file")
}

func resultEvent(m *pb.ExecuteResult) *pb.ExecuteEvent {
	return &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Result{Result: m}}
}

// errClosed is the error of calls that wait when the kernel closes its side, and of calls after the
// result.
var errClosed = errors.New("the kernel closed its side of the attempt")

// cancelCause returns the cause of a context that the kernel cancelled.
func cancelCause(reason string) error {
	return fmt.Errorf("cancelled by the kernel: %s: %w", cmp.Or(reason, "no reason given"), context.Canceled)
}
