package model

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// answers is a service without a network: it returns the same answer to every request.
type answers struct {
	status int
	kind   string
	body   string
}

// RoundTrip implements [http.RoundTripper].
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {a.kind}, "Retry-After": {"3"}}, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

// FuzzReply reads arbitrary answers of a service of either API. A reply has calls with unique ids and arguments that are
// objects, and has the text that was shown. Other answers are failures of a known kind.
func FuzzReply(f *testing.F) {
	const chat = `data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"read_file","arguments":"{\"path\":"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":9}}}` + "\n\ndata: [DONE]\n\n"
	const messages = "event: message_start\n" + `data: {"type":"message_start","message":{"id":"1","model":"m","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n" +
		"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm","signature":"s"}}` + "\n\n" +
		"event: content_block_start\n" + `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"read_file","input":{}}}` + "\n\n" +
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a\"}"}}` + "\n\n" +
		"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4}}` + "\n\n" +
		"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"
	for _, text := range []string{chat, messages, "data: [DONE]\n\n", "", "data: {\n\n", `data: {"error":{"message":"overloaded","type":"overloaded_error"}}` + "\n\n"} {
		f.Add(false, 200, "text/event-stream", text)
		f.Add(true, 200, "text/event-stream", text)
	}
	f.Add(false, 429, "application/json", `{"error":{"message":"slow down","code":429}}`)
	f.Add(true, 529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	f.Add(false, 500, "text/html", "<html>oops")
	f.Fuzz(func(t *testing.T, second bool, status int, kind, body string) {
		if status < 200 || status > 599 {
			return
		}
		var shown strings.Builder
		reply, err := newTestClient(second, answers{status, kind, body}).Reply(t.Context(), fullRequest, func(s string) { shown.WriteString(s) })
		if err != nil {
			var failed *Failure
			if !errors.As(err, &failed) || failed.Err.Kind == "" || failed.Err.Message == "" {
				t.Fatalf("an error that is no failure: %v", err)
			}
			if utf8.ValidString(body) && !utf8.ValidString(failed.Err.Message) {
				t.Errorf("message %q is torn", failed.Err.Message)
			}
			return
		}
		if reply.Text != shown.String() {
			t.Errorf("shown %q, text %q", shown.String(), reply.Text)
		}
		used := map[string]bool{}
		for _, call := range reply.Calls {
			var object map[string]any
			if call.ID == "" || used[call.ID] || json.Unmarshal(call.Args, &object) != nil || object == nil {
				t.Errorf("call %+v of %+v", call, reply.Calls)
			}
			used[call.ID] = true
		}
	})
}

func newTestClient(second bool, service answers) Client {
	client, base := &http.Client{Transport: service}, &url.URL{Scheme: "http", Host: "model.test"}
	if second {
		return newMessages(Endpoint{API: Anthropic}, base, client)
	}
	return newChat(Endpoint{API: OpenAI}, base, client)
}
