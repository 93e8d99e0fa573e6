package serve

import (
	"context"
	"errors"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

func TestReportsArriveInOrder(t *testing.T) {
	long := strings.Repeat("é", chunkBytes) // the chunks end inside characters
	a := attemptOn(t, func(_ context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		x.Output(sdk.OutputChunk{Stream: sdk.StreamStderr, Text: req.Prompt})
		x.Progress(sdk.Progress{Message: "m", Turn: 1, Tool: "t"})
		x.Observe(sdk.ToolCall{CallID: "o"})
		x.ObserveResult(sdk.ToolResult{CallID: "o"})
		x.Result(sdk.ToolResult{CallID: "g"})
		x.Usage(sdk.Usage{})
		x.Output(sdk.OutputChunk{Text: long})
		return sdk.ExecuteResult{}, nil
	})
	if got := a.next().GetOutput(); string(got.GetData()) != "prompt" {
		t.Errorf("got %v", got)
	}
	if got := a.next().GetProgress(); got.GetTurn() != 1 {
		t.Errorf("got %v", got)
	}
	if got := a.next().GetObservedCall(); got.GetCallId() != "o" {
		t.Errorf("got %v", got)
	}
	if got := a.next().GetToolResult(); got.GetCallId() != "o" || !got.GetObserved() {
		t.Errorf("got %v", got)
	}
	if got := a.next().GetToolResult(); got.GetCallId() != "g" || got.GetObserved() {
		t.Errorf("got %v", got)
	}
	if got := a.next(); got.GetUsage() == nil {
		t.Errorf("got %v", got)
	}
	var text strings.Builder
	for text.Len() < len(long) {
		text.Write(a.next().GetOutput().GetData())
	}
	if text.String() != long {
		t.Error("the pieces do not add up to the text")
	}
	a.result()
}

// TestVerdicts answers calls out of order, and also answers an unknown call and an answered call.
func TestVerdicts(t *testing.T) {
	a := attemptOn(t, func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		first := make(chan sdk.Verdict, 1)
		go func() {
			v, _ := x.Call(ctx, sdk.ToolCall{CallID: "1"})
			first <- v
		}()
		second, err := x.Call(ctx, sdk.ToolCall{CallID: "2"})
		return sdk.ExecuteResult{Output: string((<-first).Action + second.Action)}, err
	})
	a.next()
	a.next()
	a.verdict(sdk.Verdict{CallID: "7", Action: sdk.VerdictRun})
	a.verdict(sdk.Verdict{CallID: "2", Action: sdk.VerdictDeny})
	a.verdict(sdk.Verdict{CallID: "2", Action: sdk.VerdictRun})
	a.verdict(sdk.Verdict{CallID: "1", Action: sdk.VerdictSkip})
	if got := a.result(); got.Output != "skipdeny" || got.Error != nil {
		t.Errorf("got %q, %v", got.Output, got.Error)
	}
}

func TestCheckpointsAreAcknowledged(t *testing.T) {
	a := attemptOn(t, func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		return sdk.ExecuteResult{Output: "stored"}, x.Checkpoint(ctx, sdk.Checkpoint{Turn: 4, Blob: []byte("blob")})
	})
	compare(t, sdk.Checkpoint{Turn: 4, Blob: []byte("blob")}, wire.Decode[sdk.Checkpoint](a.next().GetCheckpoint()))
	a.stored(3) // a turn without a checkpoint
	a.stored(4)
	if got := a.result(); got.Output != "stored" || got.Error != nil {
		t.Errorf("got %q, %v", got.Output, got.Error)
	}
}

// TestWaitingEnds checks that waiting calls end when the kernel closes its side, and when the
// attempt is cancelled.
func TestWaitingEnds(t *testing.T) {
	waits := map[string]func(context.Context, sdk.Exchange) error{
		"call": func(ctx context.Context, x sdk.Exchange) error {
			_, err := x.Call(ctx, sdk.ToolCall{CallID: "1"})
			return err
		},
		"checkpoint": func(ctx context.Context, x sdk.Exchange) error { return x.Checkpoint(ctx, sdk.Checkpoint{}) },
	}
	for name, wait := range waits {
		execute := func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
			if err := wait(ctx, x); err != nil {
				return sdk.ExecuteResult{}, err
			}
			return sdk.ExecuteResult{Output: "answered without a verdict"}, nil
		}
		t.Run(name+", kernel closed its side", func(t *testing.T) {
			a := attemptOn(t, execute)
			a.next()
			got := a.result
			check(t, a.stream.CloseSend())
			if got := got(); got.Error == nil || got.Error.Message != errClosed.Error() {
				t.Errorf("got %+v", got)
			}
		})
		t.Run(name+", cancelled", func(t *testing.T) {
			a := attemptOn(t, execute)
			a.next()
			a.cancel("enough")
			if got := a.result(); got.Error == nil || !strings.Contains(got.Error.Message, "enough") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestInvalidCalls(t *testing.T) {
	a := attemptOn(t, func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		large := raw(`"` + strings.Repeat("x", wire.MaxMessage) + `"`)
		_, nameless := x.Call(ctx, sdk.ToolCall{})
		_, tooLarge := x.Call(ctx, sdk.ToolCall{CallID: "large", Args: large})
		heavy := x.Checkpoint(ctx, sdk.Checkpoint{Blob: large})
		x.Observe(sdk.ToolCall{CallID: "large", Args: large})
		x.Result(sdk.ToolResult{CallID: "large", Result: large})
		return sdk.ExecuteResult{}, errors.Join(nameless, tooLarge, heavy)
	})
	if got := a.next().GetObservedCall().GetArgs(); !strings.Contains(string(got), "left_out") {
		t.Errorf("arguments: %.100s", got)
	}
	if got := a.next().GetToolResult().GetResult(); !strings.Contains(string(got), "left_out") {
		t.Errorf("result: %.100s", got)
	}
	message := a.result().Error.Message
	for _, want := range []string{"the tool call has no id", "tool call large of", "the checkpoint of", "limit of 64 MiB"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q is not in the error:\n%s", want, message)
		}
	}
}

func TestSameCallTwiceAtOnce(t *testing.T) {
	refused := make(chan struct{})
	a := attemptOn(t, func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		failed := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := x.Call(ctx, sdk.ToolCall{CallID: "1"})
				failed <- err
			}()
		}
		second := <-failed
		close(refused)
		return sdk.ExecuteResult{}, errors.Join(second, <-failed)
	})
	a.next()
	<-refused
	a.cancel("the first one waits without end")
	if got := a.result().Error; !strings.Contains(got.Message, "already waits for its verdict") {
		t.Errorf("got %v", got)
	}
}

func TestReportsAfterTheEndAreIgnored(t *testing.T) {
	var kept sdk.Exchange
	a := attemptOn(t, func(_ context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		kept = x
		return sdk.ExecuteResult{Output: "done"}, nil
	})
	a.result()
	kept.Output(sdk.OutputChunk{Text: "late"})
	if _, err := kept.Call(t.Context(), sdk.ToolCall{CallID: "late"}); !errors.Is(err, errClosed) {
		t.Errorf("got %v, want %v", err, errClosed)
	}
}
