package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	protocol "github.com/coder/acp-go-sdk"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// lockedBuffer is a writer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// TestPeerKeepsOrder: notifications and requests are handled in order; only answers are concurrent.
func TestPeerKeepsOrder(t *testing.T) {
	var order []string
	out := &lockedBuffer{}
	p := &peer{
		onNotification: func(method string, _ json.RawMessage) { order = append(order, method) },
		onRequest: func(method string, _ json.RawMessage) func() any {
			order = append(order, method)
			if method == "unknown" {
				return nil
			}
			return func() any { return map[string]int{"n": 1} }
		},
	}
	p.attach(out)
	for _, line := range []string{`{"method":"a"}`, `{"id":"x","method":"b"}`, `not JSON`, `{"method":"c"}`, `{"id":7,"method":"unknown"}`, `{"id":99,"result":1}`} {
		p.handleLine([]byte(line + "\n"))
	}
	p.answers.Wait()
	compare(t, []string{"a", "b", "c", "unknown"}, order)
	for _, want := range []string{`{"jsonrpc":"2.0","id":"x","result":{"n":1}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in:\n%s", want, out.String())
		}
	}
}

func TestPeerCall(t *testing.T) {
	p := &peer{}
	if err := p.call(t.Context(), nil, "x", nil, nil); !errors.Is(err, errGone) {
		t.Errorf("before a peer is attached: %v", err)
	}
	p.attach(io.Discard)
	over := make(chan struct{})
	close(over)
	if err := p.call(t.Context(), over, "x", nil, nil); !errors.Is(err, errGone) {
		t.Errorf("after the end: %v", err)
	}
	p.attach(writer(func(line []byte) {
		p.handleLine([]byte(strings.Replace(string(line), `"method":"x","params":null`, `"result":{"n":3}`, 1)))
	}))
	var got struct{ N int }
	if err := p.call(t.Context(), over, "x", nil, &got); err != nil || got.N != 3 {
		t.Errorf("an answer that came before the end: %v, error %v", got, err)
	}
	p.attach(writer(func([]byte) { p.handleLine([]byte(`{"id":4,"error":{"code":-32000,"message":"no"}}`)) }))
	var no *protocol.RequestError
	if err := p.call(t.Context(), nil, "x", nil, &got); !errors.As(err, &no) || no.Code != -32000 {
		t.Errorf("a refusal: %v", err)
	}
}

// writer passes each line to a function.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// TestStopwatch: overlapping waits count once.
func TestStopwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w stopwatch
		pass := func(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) }
		pass(1)
		first := w.hold()
		pass(2)
		second := w.hold()
		pass(4)
		first()
		pass(8)
		if got := w.total(); got != 14*time.Second {
			t.Errorf("while it is held: %s", got)
		}
		second()
		pass(16)
		if got := w.total(); got != 14*time.Second {
			t.Errorf("afterwards: %s", got)
		}
	})
}

// FuzzLines: any output of an agent is read without a panic; reported calls and written messages are valid.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"hi"}}}}`))
	f.Add([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","rawInput":{"a":1},"content":[{"type":"diff","path":"p","newText":"n"}],"status":"completed"}}}` + "\n" +
		`{"id":1,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","kind":"allow_once"}]}}`))
	f.Add([]byte(`{"id":1,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":1}}}}}` + "\n{\"id\":null}\n[1]\n{"))
	f.Add([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update","cost":{"amount":1,"currency":"USD"}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		x := &plugintest.Exchange{}
		a := newAttempt(t.Context(), setup{Config: Config{Permissions: permissionAsk}}, sdk.ExecuteRequest{}, x)
		defer a.cancel(nil)
		out := &lockedBuffer{}
		a.peer.attach(out)
		a.report.startTurn()
		for line := range bytes.Lines(text) {
			a.peer.handleLine(line)
		}
		a.peer.answers.Wait()
		a.report.finish(true)
		r := x.Record()
		for _, call := range append(r.Calls, r.Observed...) {
			if call.CallID == "" || call.Tool == "" || !json.Valid(call.Args) {
				t.Errorf("call %+v", call)
			}
		}
		if len(r.Results) > len(r.Calls) || len(r.ObservedResults) != len(r.Observed) {
			t.Errorf("%d calls, %d results; %d observed, %d ended", len(r.Calls), len(r.Results), len(r.Observed), len(r.ObservedResults))
		}
		for line := range strings.Lines(out.String()) {
			if _, ok := parseMessage([]byte(line)); !ok {
				t.Errorf("wrote %q", line)
			}
		}
	})
}
