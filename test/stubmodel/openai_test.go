package stubmodel

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResponsesRead(t *testing.T) {
	cases := []struct {
		name, body string
		want       inbound
	}{
		{"a whole conversation", `{"model":"m","stream":true,"instructions":"one","tools":[{"name":"exec"}],"input":[
			{"type":"message","role":"developer","content":[{"type":"input_text","text":"two"}]},
			{"role":"user","content":[{"type":"input_text","text":"first"},{"type":"input_image","image_url":"data:"}]},
			{"type":"reasoning","id":"rs","summary":[],"content":null,"encrypted_content":null},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"not the user"}]},
			{"type":"function_call","call_id":"a","name":"exec","arguments":"{}"},
			{"type":"custom_tool_call","call_id":"b","name":"apply_patch","input":"x"},
			{"type":"function_call_output","call_id":"a","output":"plain"},
			{"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"part 1"},{"type":"input_text","text":"part 2"}]},
			{"role":"user","content":"second"}]}`, inbound{
			model: "m", system: "one\ntwo", prompt: "first\nsecond",
			toolResult: "plain\npart 1\npart 2", offersTools: true, stream: true,
		}},
		{"a plain string", `{"model":"m","input":"hello"}`, inbound{model: "m", prompt: "hello"}},
		{"older tool results are forgotten", `{"input":[
			{"type":"function_call_output","output":"old"},{"type":"reasoning"},{"role":"user","content":"next"}]}`, inbound{prompt: "next"}},
		{"an output of another shape", `{"input":[{"type":"computer_call_output","output":{"image_url":"data:"}}]}`, inbound{}},
		{"tools beside the conversation", `{"input":[{"type":"additional_tools","role":"developer","tools":[{"name":"exec"}]},
			{"role":"user","content":"go"}]}`, inbound{prompt: "go", offersTools: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := responses{}.read([]byte(c.body))
			check(t, err)
			c.want.body = []byte(c.body)
			compare(t, c.want, got, cmp.AllowUnexported(inbound{}))
		})
	}
}

func TestChatRead(t *testing.T) {
	body := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function"}],"messages":[
		{"role":"system","content":"one"},{"role":"developer","content":[{"type":"text","text":"two"}]},
		{"role":"user","content":[{"type":"text","text":"first"}]},
		{"role":"tool","tool_call_id":"z","content":"old"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"a"},{"id":"b"}]},
		{"role":"tool","tool_call_id":"a","content":"plain"},
		{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"part"}]},
		{"role":"user","content":"second"}]}`
	got, err := chat{}.read([]byte(body))
	check(t, err)
	want := inbound{
		body: []byte(body), model: "m", system: "one\ntwo", prompt: "first\nsecond",
		toolResult: "plain\npart", offersTools: true, stream: true, streamUsage: true,
	}
	compare(t, want, got, cmp.AllowUnexported(inbound{}))
}

// TestChatUsageIsAskedFor checks that a stream has usage only on request.
func TestChatUsageIsAskedFor(t *testing.T) {
	a := answer{turn: Turn{Text: "hi", Usage: Usage{Input: 3, Output: 4}}}
	for _, asked := range []bool{false, true} {
		a.in.streamUsage = asked
		frames := chat{}.stream(a)
		var counts []any // of the chunks that have the key
		for _, f := range frames {
			if chunk, isChunk := f.data.(map[string]any); isChunk {
				if usage, has := chunk["usage"]; has {
					counts = append(counts, usage)
				}
			}
		}
		var want []any
		if asked {
			want = []any{nil, nil, nil, chatUsage(a.turn.Usage)}
		}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("asked %t (-want +got):\n%s", asked, diff)
		}
	}
}

// TestRefusals checks that an API that cannot express a turn returns an error.
func TestRefusals(t *testing.T) {
	raw := Script{Turns: []Turn{{ToolCalls: []ToolCall{{Name: "lookup", Raw: "{"}}}}}
	hi := Script{Turns: []Turn{{Text: "hi"}}}
	whole := strings.Replace(openAIQuestion(), `"stream":true`, `"stream":false`, 1)
	for _, c := range []struct {
		path, body, want string
		script           Script
	}{
		{"/v1/messages", whole, "unexpected end of JSON input", raw},
		{"/v1/chat/completions", whole, "is answered in a stream only", hi},
		{"/v1/responses", whole, "is answered in a stream only", hi},
	} {
		server, client := load(t, c.script)
		got := client.do(t, http.MethodPost, server.Base("it")+c.path, c.body)
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, c.want) || len(server.Faults("it")) != 1 {
			t.Errorf("%s: got %+v, faults %q", c.path, got, server.Faults("it"))
		}
	}
}

func TestToolErrorIsUnknown(t *testing.T) {
	failed := false
	script := Script{Turns: []Turn{{Text: "hi", Expect: &Expect{ToolError: &failed}}}}
	for _, path := range []string{"/v1/responses", "/v1/chat/completions"} {
		server, client := load(t, script)
		got := client.do(t, http.MethodPost, server.Base("it")+path, openAIQuestion())
		if text := messageText(t, got); got.Status != 400 || !strings.Contains(text, "does not say whether a tool failed; use tool_result") {
			t.Errorf("got status %d, %q", got.Status, text)
		}
	}
}

// TestOpenAISideRequests checks that requests without tools, or that match SideRE, use up no turn.
func TestOpenAISideRequests(t *testing.T) {
	body := `{"stream":true,"input":"name this","messages":[{"role":"user","content":"name this"}]}`
	for _, path := range []string{"/v1/responses", "/v1/chat/completions"} {
		server, client := load(t, Script{
			Turns: []Turn{{Text: "the answer"}}, After: AfterError, Side: &Turn{Text: "a title"}, SideRE: "GUARDIAN",
		})
		for _, c := range []struct{ body, want string }{
			{body, "a title"},
			{strings.Replace(openAIQuestion(), "hello", "GUARDIAN", 2), "a title"},
			{openAIQuestion(), "the answer"},
		} {
			got := client.do(t, http.MethodPost, server.Base("it")+path, c.body)
			if got.Status != 200 || !strings.Contains(got.Body, `"`+c.want+`"`) {
				t.Errorf("%s: got %+v, want %q", path, got, c.want)
			}
		}
	}
}

// TestErrors checks the error of each status in each API.
func TestErrors(t *testing.T) {
	cases := []struct {
		turn      Turn
		anthropic string // the type
		openAI    string // type and code
	}{
		{Turn{Status: 400}, "invalid_request_error", `"invalid_request_error","param":null,"code":null`},
		{Turn{Status: 401}, "authentication_error", `"invalid_request_error","param":null,"code":"invalid_api_key"`},
		{Turn{Status: 402}, "billing_error", `"invalid_request_error","param":null,"code":null`},
		{Turn{Status: 403}, "permission_error", `"invalid_request_error","param":null,"code":null`},
		{Turn{Status: 404}, "not_found_error", `"invalid_request_error","param":null,"code":"model_not_found"`},
		{Turn{Status: 413}, "request_too_large", `"invalid_request_error","param":null,"code":null`},
		{Turn{Status: 429}, "rate_limit_error", `"requests","param":null,"code":"rate_limit_exceeded"`},
		{Turn{Status: 500}, "api_error", `"server_error","param":null,"code":null`},
		{Turn{Status: 503}, "api_error", `"service_unavailable_error","param":null,"code":"server_is_overloaded"`},
		{Turn{Status: 504}, "timeout_error", `"server_error","param":null,"code":null`},
		{Turn{Status: 529}, "overloaded_error", `"server_error","param":null,"code":null`},
		{Turn{Status: 429, ErrorType: "my_error"}, "my_error", `"my_error","param":null,"code":"my_error"`},
	}
	for _, c := range cases {
		c.turn.ErrorMessage, c.turn.Headers = "because", map[string]string{"retry-after": "1"}
		openAI := `{"error":{"message":"because","type":` + c.openAI + `}}`
		for path, body := range map[string]string{
			"/v1/messages":         `{"type":"error","error":{"type":"` + c.anthropic + `","message":"because"},"request_id":"req_stub_1"}`,
			"/v1/responses":        openAI,
			"/v1/chat/completions": openAI,
		} {
			t.Run(fmt.Sprint(path, c.turn.Status, c.turn.ErrorType), func(t *testing.T) {
				server, client := load(t, Script{Turns: []Turn{c.turn}})
				got := client.do(t, http.MethodPost, server.Base("it")+path, openAIQuestion())
				want := reply{
					Status: c.turn.Status, Body: body,
					Header: http.Header{"Retry-After": {"1"}, "Request-Id": {"req_stub_1"}, "X-Request-Id": {"req_stub_1"}, "Content-Type": {"application/json"}},
				}
				got.Header.Del("Date")
				got.Header.Del("Content-Length")
				compare(t, want, got)
			})
		}
	}
}
