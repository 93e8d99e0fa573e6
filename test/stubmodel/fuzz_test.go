package stubmodel

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzReadMessages(f *testing.F) {
	fuzzRead(f, messagesAPI,
		question(true, "hello", "a tool result"),
		`{"system":[{"type":"text","text":"x"}],"messages":[{"role":"user","content":[{"type":"tool_result","content":null,"is_error":true}]}]}`)
}

func FuzzReadResponses(f *testing.F) {
	fuzzRead(f, responsesAPI,
		openAIQuestion(),
		`{"input":[{"type":"additional_tools","role":"developer","tools":[{}]},{"role":"user","content":[{"type":"input_text","text":"x"}]},
			{"type":"reasoning","content":null},{"type":"function_call_output","output":[{"text":"y"}]},{"type":"computer_call_output","output":{}}]}`)
}

func FuzzReadChat(f *testing.F) {
	fuzzRead(f, chatAPI,
		openAIQuestion(),
		`{"stream_options":{"include_usage":true},"messages":[{"role":"assistant","content":null},{"role":"tool","content":[{"type":"text","text":"y"}]}]}`)
}

// fuzzRead checks that a request that is read is JSON and has the same meaning in another layout. The request can be
// compared with an expectation and answered.
func fuzzRead(f *testing.F, api api, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	yes := true
	expect := Expect{Model: "m", System: "s", Prompt: "p", ToolResult: "t", ToolError: &yes, Body: "b"}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := api.read(body)
		if err != nil {
			return
		}
		var spread bytes.Buffer
		if err := json.Indent(&spread, body, "", " "); err != nil {
			t.Fatalf("understood what is not JSON: %v", err)
		}
		again, err := api.read(spread.Bytes())
		if err != nil {
			t.Fatalf("not understood with spaces: %v", err)
		}
		in.body, again.body = nil, nil
		if diff := cmp.Diff(in, again, cmp.AllowUnexported(inbound{})); diff != "" {
			t.Errorf("(-tight +spread):\n%s", diff)
		}
		_ = expect.check(in, nil)
		encode(t, api, answer{number: 1, in: in, turn: Turn{Text: in.prompt, Thinking: in.system}})
	})
}
