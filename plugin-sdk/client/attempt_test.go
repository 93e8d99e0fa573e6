package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// TestAttemptForwardsAllFields plays a whole conversation with two messages that the client must
// ignore: an unknown message and a second result.
func TestAttemptForwardsAllFields(t *testing.T) {
	var start *pb.ExecuteStart
	var verdict *pb.ToolVerdict
	var stored *pb.CheckpointStored
	p := provider(t, &fake{execute: func(stream pb.Provider_ExecuteServer) error {
		first, err := stream.Recv()
		if err != nil {
			return err
		}
		start = first.GetStart()
		send(stream, heartbeat())
		send(stream, &pb.ExecuteEvent{}) // a message of a later version
		send(stream, output("a"))
		send(stream, &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Progress{Progress: &pb.Progress{Turn: 2}}})
		send(stream, &pb.ExecuteEvent{Event: &pb.ExecuteEvent_ObservedCall{ObservedCall: &pb.ToolCall{CallId: "o"}}})
		send(stream, &pb.ExecuteEvent{Event: &pb.ExecuteEvent_ToolResult{ToolResult: &pb.ToolResult{CallId: "o", Observed: true}}})
		send(stream, &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Usage{Usage: &pb.Usage{}}})
		send(stream, gatedCall("g"))
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		verdict = answer.GetVerdict()
		send(stream, &pb.ExecuteEvent{Event: &pb.ExecuteEvent_ToolResult{ToolResult: &pb.ToolResult{CallId: "g", Status: 1}}})
		send(stream, checkpoint(3))
		answer, err = stream.Recv()
		if err != nil {
			return err
		}
		stored = answer.GetCheckpointStored()
		send(stream, result("done"))
		send(stream, result("done twice"))
		_, _ = stream.Recv() // the client closes its side
		return nil
	}})
	x := &plugintest.Exchange{Verdicts: map[string]sdk.Verdict{"g": {Action: sdk.VerdictSkip, Reason: "why not"}}}
	got, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: "prompt"}, x)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sdk.ExecuteResult{Output: "done", Outcome: sdk.OutcomeSucceeded}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if start.GetPrompt() != "prompt" || start.GetComponent().GetName() != "fake" {
		t.Errorf("start: %v", start)
	}
	if verdict.GetCallId() != "g" || verdict.GetAction() != pb.VerdictAction_VERDICT_ACTION_SKIP || verdict.GetReason() != "why not" {
		t.Errorf("verdict: %v", verdict)
	}
	if stored.GetTurn() != 3 {
		t.Errorf("checkpoint: %v", stored)
	}
	want := plugintest.Record{
		Output:          []sdk.OutputChunk{{Stream: sdk.StreamText, Text: "a"}},
		Progress:        []sdk.Progress{{Turn: 2}},
		Observed:        []sdk.ToolCall{{CallID: "o", Effect: sdk.EffectOnce}},
		ObservedResults: []sdk.ToolResult{{CallID: "o", Status: sdk.ToolError}},
		Calls:           []sdk.ToolCall{{CallID: "g", Tool: "tool", Effect: sdk.EffectOnce}},
		Results:         []sdk.ToolResult{{CallID: "g", Status: sdk.ToolSuccess}},
		Usage:           []sdk.Usage{{}},
		Checkpoints:     []sdk.Checkpoint{{Turn: 3, Blob: []byte("blob")}},
	}
	if diff := cmp.Diff(want, x.Record()); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// untilCancelled returns a plugin that waits for the cancel message and then answers.
func untilCancelled(answer func(stream pb.Provider_ExecuteServer, reason string) error) *fake {
	return &fake{execute: func(stream pb.Provider_ExecuteServer) error {
		send(stream, output("working"))
		for {
			m, err := stream.Recv()
			if err != nil {
				return err
			}
			if cancel := m.GetCancel(); cancel != nil {
				return answer(stream, cancel.GetReason())
			}
		}
	}}
}

// TestEmptyIsNoError: an empty outcome is not an error, because only the caller knows the agent's result file.
func TestEmptyIsNoError(t *testing.T) {
	tests := []struct {
		outcome pb.Outcome
		kind    failure.Kind
	}{
		{pb.Outcome_OUTCOME_EMPTY, ""},
		{pb.Outcome_OUTCOME_FAILED, failure.ProviderFailed},
	}
	for _, tt := range tests {
		t.Run(tt.outcome.String(), func(t *testing.T) {
			p := provider(t, &fake{execute: func(stream pb.Provider_ExecuteServer) error {
				send(stream, &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Result{Result: &pb.ExecuteResult{
					Outcome: tt.outcome, Failure: &pb.Failure{Kind: string(failure.ProviderFailed), Message: "nothing"},
				}}})
				return nil
			}})
			r, err := p.Execute(t.Context(), sdk.ExecuteRequest{}, &plugintest.Exchange{})
			if failure.KindOf(err) != tt.kind || r.Error == nil || r.Error.Message != "nothing" {
				t.Errorf("error %v, result %+v", err, r)
			}
		})
	}
}

func TestCancelDeliversReason(t *testing.T) {
	p := provider(t, untilCancelled(func(stream pb.Provider_ExecuteServer, reason string) error {
		m := result("half of it")
		m.GetResult().Failure = &pb.Failure{Kind: "provider_failed", Message: "stopped: " + reason}
		send(stream, m)
		return nil
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) { cancel(enough) }}
	got, err := p.Execute(ctx, sdk.ExecuteRequest{}, x)
	if got.Output != "half of it" {
		t.Errorf("got output %q", got.Output)
	}
	if err == nil || err.Error() != "stopped: enough" {
		t.Errorf("got error %v", err)
	}
	if !errors.Is(err, context.Canceled) || !errors.Is(err, enough) {
		t.Errorf("%v does not contain the end of the context and its cause", err)
	}
}

func TestStubbornAttemptIsEnded(t *testing.T) {
	p := provider(t, untilCancelled(func(stream pb.Provider_ExecuteServer, _ string) error {
		<-stream.Context().Done() // ignores the cancel message and ends by the tear-down
		return nil
	}), client.CancelSlack(time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) { cancel() }}
	_, err := p.Execute(ctx, sdk.ExecuteRequest{Grace: time.Millisecond}, x)
	wantFailure(t, err, failure.ProviderTimeout, "did not end the attempt within 2ms of being cancelled")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not contain the end of the context", err)
	}
}

func TestExchangeErrorEndsTheAttempt(t *testing.T) {
	full := errors.New("disk full")
	tests := map[string]struct {
		event *pb.ExecuteEvent
		x     *plugintest.Exchange
	}{
		"call":       {gatedCall("1"), &plugintest.Exchange{OnCall: func(sdk.ToolCall) error { return full }}},
		"checkpoint": {checkpoint(1), &plugintest.Exchange{OnCheckpoint: func(sdk.Checkpoint) error { return full }}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := untilCancelled(func(stream pb.Provider_ExecuteServer, reason string) error {
				send(stream, result(reason))
				return nil
			})
			conversation := f.execute
			f.execute = func(stream pb.Provider_ExecuteServer) error {
				send(stream, tt.event)
				return conversation(stream)
			}
			got, err := provider(t, f).Execute(t.Context(), sdk.ExecuteRequest{}, tt.x)
			if !errors.Is(err, full) {
				t.Errorf("got error %v, want %v", err, full)
			}
			if got.Output != "disk full" {
				t.Errorf("the plugin learned the reason %q", got.Output)
			}
		})
	}
}

func TestBrokenAttempts(t *testing.T) {
	tests := map[string]struct {
		execute func(pb.Provider_ExecuteServer) error
		kind    failure.Kind
		text    string
	}{
		"silence": {
			func(stream pb.Provider_ExecuteServer) error { <-stream.Context().Done(); return nil },
			failure.ProviderCrashed, "plugin stopped responding, no message for 50ms",
		},
		"no result": {
			func(pb.Provider_ExecuteServer) error { return nil },
			failure.PluginInvalid, "closed the attempt without a result",
		},
		"exception": {
			func(pb.Provider_ExecuteServer) error { return errors.New("exception calling application") },
			failure.ProviderCrashed, "exception calling application",
		},
		"not served": {nil, failure.PluginInvalid, "does not serve this call"},
		"over the limit": {
			func(stream pb.Provider_ExecuteServer) error { return stream.Send(output(strings.Repeat("x", 64<<20))) },
			failure.PluginInvalid, "over the protocol's limit of 64 MiB",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limit := client.IdleLimit(time.Minute)
			if name == "silence" {
				limit = client.IdleLimit(50 * time.Millisecond)
			}
			p := provider(t, &fake{execute: tt.execute}, limit)
			_, err := p.Execute(t.Context(), sdk.ExecuteRequest{}, &plugintest.Exchange{})
			wantFailure(t, err, tt.kind, tt.text)
		})
	}
}

func TestConnectionBreaks(t *testing.T) {
	c, server := dial(t, untilCancelled(nil))
	stopped := make(chan struct{})
	x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) {
		go func() { server.Stop(); close(stopped) }()
	}}
	_, err := c.Provider(sdk.Component{Name: "fake"}).Execute(t.Context(), sdk.ExecuteRequest{}, x)
	<-stopped
	wantFailure(t, err, failure.ProviderCrashed, "the connection to the plugin broke")
	if !failure.From(err).Retryable {
		t.Error("a crash is not retryable")
	}
}

func TestRequestOverTheLimit(t *testing.T) {
	p := provider(t, &fake{})
	_, err := p.Execute(t.Context(), sdk.ExecuteRequest{Prompt: strings.Repeat("x", 64<<20)}, &plugintest.Exchange{})
	wantFailure(t, err, failure.ProviderFailed, "the plugin protocol's limit is 64 MiB")
	if failure.From(err).Retryable {
		t.Error("an oversize error is retryable")
	}
}

// TestSlowKernelIsNotIdle: the running time of the exchange's methods does not count as the plugin's
// silence. A verdict may take longer than the idle limit while heartbeats arrive.
func TestSlowKernelIsNotIdle(t *testing.T) {
	const idle = 300 * time.Millisecond
	p := provider(t, &fake{execute: func(stream pb.Provider_ExecuteServer) error {
		send(stream, output("text"))
		send(stream, gatedCall("1"))
		answered := make(chan struct{})
		go func() { _, _ = stream.Recv(); _, _ = stream.Recv(); close(answered) }()
		for {
			select {
			case <-answered:
				return stream.Send(result("patient"))
			case <-time.After(idle / 10):
				send(stream, heartbeat())
			}
		}
	}}, client.IdleLimit(idle))
	x := &plugintest.Exchange{
		OnOutput: func(sdk.OutputChunk) { time.Sleep(2 * idle) },
		OnCall:   func(sdk.ToolCall) error { time.Sleep(3 * idle); return nil },
	}
	got, err := p.Execute(t.Context(), sdk.ExecuteRequest{}, x)
	if err != nil || got.Output != "patient" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// wantFailure checks a failure's kind and part of its message.
func wantFailure(t *testing.T, err error, kind failure.Kind, words string) {
	t.Helper()
	if failure.KindOf(err) != kind || !strings.Contains(err.Error(), words) {
		t.Errorf("got %q (%v), want %s with %q", failure.KindOf(err), err, kind, words)
	}
}
