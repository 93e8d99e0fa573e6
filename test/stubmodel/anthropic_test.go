package stubmodel

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnthropicRead(t *testing.T) {
	body := `{"model":"m","stream":true,"system":[{"type":"text","text":"one"},{"type":"text","text":"two"}],
		"tools":[{"name":"Write"}],"messages":[
		{"role":"user","content":"first"},
		{"role":"assistant","content":[{"type":"text","text":"not the user"}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":"plain"},
			{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"block"}]},
			{"type":"text","text":"second"}]}]}`
	got, err := anthropic{}.read([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	failed := true
	want := inbound{
		body: []byte(body), model: "m", system: "one\ntwo", prompt: "first\nsecond",
		toolResult: "plain\nblock", toolError: &failed, offersTools: true, stream: true,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(inbound{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnthropicReadForgetsOlderToolResults(t *testing.T) {
	body := `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"old","is_error":true}]},
		{"role":"user","content":"next question"}]}`
	got, err := anthropic{}.read([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got.toolResult != "" || *got.toolError {
		t.Errorf("got tool result %q, error %t of an older message", got.toolResult, *got.toolError)
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
