package stubmodel

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	failed := false
	got, err := Parse([]byte(`{
		"vars": {"cwd": "/w"}, "captures": {"result": "R=(.*)"},
		"turns": [
			{"thinking": "hm", "text": "I will write.", "stop_reason": "tool_use",
			 "expect": {"model": "m", "system": "s", "prompt": "p", "tool_result": "t", "tool_error": false, "body": "b"},
			 "tool_calls": [{"name": "Write", "input": {"file_path": "{{cwd}}/a"}}],
			 "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "reasoning": 5}},
			{"tool_calls": [{"name": "exec", "custom": true, "raw": "text(1)"}]},
			{"status": 529, "error_type": "e", "error_message": "m", "headers": {"retry-after": "1"}, "times": 2},
			{"mid_stream": true, "cut_after": 8},
			{"hang": true}],
		"side": {"text": "title"}, "side_re": "x", "after": "error"}`))
	check(t, err)
	want := Script{
		Vars: map[string]string{"cwd": "/w"}, Captures: map[string]string{"result": "R=(.*)"},
		Turns: []Turn{
			{
				Thinking: "hm", Text: "I will write.", StopReason: "tool_use",
				Expect:    &Expect{Model: "m", System: "s", Prompt: "p", ToolResult: "t", ToolError: &failed, Body: "b"},
				ToolCalls: []ToolCall{{Name: "Write", Input: map[string]any{"file_path": "{{cwd}}/a"}}},
				Usage:     Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5},
			},
			{ToolCalls: []ToolCall{{Name: "exec", Custom: true, Raw: "text(1)"}}},
			{Status: 529, ErrorType: "e", ErrorMessage: "m", Headers: map[string]string{"retry-after": "1"}, Times: 2},
			{MidStream: true, CutAfter: 8},
			{Hang: true},
		},
		Side: &Turn{Text: "title"}, SideRE: "x", After: AfterError,
	}
	compare(t, want, got)
}

func TestParseFaults(t *testing.T) {
	cases := []struct {
		name, text, want string
	}{
		{"no JSON", `turns:`, "parse script: invalid character"},
		{"unknown key", `{"turns":[{"txt":"x"}]}`, `unknown field "txt"`},
		{"rest", `{"turns":[{}]} {}`, "text after the end"},
		{"no turns", `{}`, "script: turns: at least one is needed"},
		{"after", `{"turns":[{}],"after":"stop"}`, `script: after: "stop" is neither "last" nor "error"`},
		{"side pattern", `{"turns":[{}],"side_re":"("}`, "script: side_re: error parsing regexp"},
		{"capture pattern", `{"turns":[{}],"captures":{"a":"["}}`, "script: captures.a: error parsing regexp"},
		{"capture group", `{"turns":[{}],"captures":{"a":"x"}}`, "script: captures.a: pattern \"x\" needs exactly one group"},
		{"negative", `{"turns":[{"cut_after":-1}]}`, "cannot unmarshal number -1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			script, err := Parse([]byte(c.text))
			if err == nil {
				_, err = compile(script)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCompileReportsEveryFault(t *testing.T) {
	_, err := compile(Script{SideRE: "(", After: "x"})
	if got := len(strings.Split(err.Error(), "\n")); got != 3 {
		t.Errorf("got %d faults, want 3: %v", got, err)
	}
}

// FuzzParse checks that every accepted script can be played to its end, with any prompt.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.script.json")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, seed := range seeds {
		text, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "RESULT=/r")
	}
	f.Fuzz(func(t *testing.T, text []byte, prompt string) {
		script, err := Parse(text)
		if err != nil {
			return
		}
		program, err := compile(script)
		if err != nil {
			return
		}
		for i, turn := range append(program.Turns, program.side) {
			in := inbound{prompt: prompt, offersTools: true}
			values := program.values(in.prompt)
			_ = turn.Expect.check(in, values)
			expanded, err := turn.expand(values)
			if err != nil {
				continue // a capture without a match
			}
			message := answer{number: i, turn: expanded}
			for _, api := range []api{messagesAPI, responsesAPI, chatAPI} {
				encode(t, api, message)
			}
		}
	})
}

// encode encodes an answer and its error in all forms of an API.
func encode(t *testing.T, api api, message answer) {
	t.Helper()
	for _, frame := range api.stream(message) {
		frame.payload()
	}
	if body, err := (anthropic{}).complete(message); err == nil && !json.Valid(body) {
		t.Errorf("answered with %s", body)
	}
	f := message.turn.fault(500)
	f.broken = message
	body, last := api.fault(f)
	mustMarshal(body)
	last.payload()
}
