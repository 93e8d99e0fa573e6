package stubmodel

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fullTurn has every part that a message can have, with text that must be cut between runes.
var fullTurn = Turn{
	Thinking: "The user wants a file; I know how.",
	Text:     "Gut: ich schreibe die Datei für Sie, <sofort> & ohne Umschweife.",
	ToolCalls: []ToolCall{
		{Name: "Write", Input: map[string]any{"file_path": "{{dir}}/a.txt", "content": "größer \"zitiert\"\n"}},
		{Name: "Bash", Input: map[string]any{"command": "cat a.txt"}},
	},
	Usage: Usage{Input: 1000, Output: 50, CacheRead: 200, CacheWrite: 30, Reasoning: 7},
}

func TestAnthropicGolden(t *testing.T) {
	cases := []struct {
		name   string
		stream bool
		turn   Turn
		kind   string
	}{
		{"stream.sse", true, fullTurn, "text/event-stream"},
		{"whole.json", false, fullTurn, "application/json"},
		{"stop_reason.sse", true, Turn{Text: "cut short", StopReason: "max_tokens"}, "text/event-stream"},
		{"mid_stream.sse", true, Turn{
			Text: "never all of it is seen by anybody", MidStream: true, CutAfter: 4,
			ErrorType: "overloaded_error", ErrorMessage: "Overloaded",
		}, "text/event-stream"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, client := load(t, Script{Vars: map[string]string{"dir": `/tmp/"odd" dir`}, Turns: []Turn{c.turn}})
			got := client.ask(t, server.Base("it"), question(c.stream, "hello"))
			if got.Err != nil || got.Status != http.StatusOK {
				t.Fatalf("got status %d, error %v", got.Status, got.Err)
			}
			if kind := got.Header.Get("Content-Type"); kind != c.kind {
				t.Errorf("content type %q, want %q", kind, c.kind)
			}
			golden(t, c.name, got.Body)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update to make it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestAnthropicRead(t *testing.T) {
	body := `{"model":"m","stream":true,"system":[{"type":"text","text":"one"},{"type":"text","text":"two"}],
		"tools":[{"name":"Write"}],"messages":[
		{"role":"user","content":"first"},
		{"role":"assistant","content":[{"type":"text","text":"not the user"}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":"plain"},
			{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"block"}]},
			{"type":"text","text":"second"}]}]}`
	got, err := anthropic{}.read(http.Header{conversationHeader: {"c1"}}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := inbound{
		body: []byte(body), conversation: "c1", model: "m", system: "one\ntwo", prompt: "first\nsecond",
		toolResult: "plain\nblock", toolError: true, offersTools: true, stream: true,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(inbound{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnthropicReadForgetsOlderToolResults(t *testing.T) {
	body := `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"old","is_error":true}]},
		{"role":"user","content":"next question"}]}`
	got, err := anthropic{}.read(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got.toolResult != "" || got.toolError {
		t.Errorf("got tool result %q, error %t of an older message", got.toolResult, got.toolError)
	}
}

func TestAnthropicErrors(t *testing.T) {
	cases := []struct {
		turn Turn
		want string
	}{
		{Turn{Status: 400}, "invalid_request_error"},
		{Turn{Status: 401}, "authentication_error"},
		{Turn{Status: 402}, "billing_error"},
		{Turn{Status: 403}, "permission_error"},
		{Turn{Status: 404}, "not_found_error"},
		{Turn{Status: 413}, "request_too_large"},
		{Turn{Status: 429}, "rate_limit_error"},
		{Turn{Status: 500}, "api_error"},
		{Turn{Status: 504}, "timeout_error"},
		{Turn{Status: 529}, "overloaded_error"},
		{Turn{Status: 429, ErrorType: "my_error"}, "my_error"},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			c.turn.ErrorMessage, c.turn.Headers = "because", map[string]string{"retry-after": "1"}
			server, client := load(t, Script{Turns: []Turn{c.turn}})
			got := client.ask(t, server.Base("it"), question(true, "hello"))
			want := reply{
				Status: c.turn.Status,
				Header: http.Header{"Retry-After": {"1"}, "Request-Id": {"req_stub_1"}, "Content-Type": {"application/json"}},
				Body:   `{"type":"error","error":{"type":"` + c.want + `","message":"because"},"request_id":"req_stub_1"}`,
			}
			got.Header.Del("Date")
			got.Header.Del("Content-Length")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
