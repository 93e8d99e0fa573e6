package stubmodel

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fullTurn has every part that all APIs can express, with text that must be cut between runes.
var fullTurn = Turn{
	Thinking: "The user wants a file; I know how.",
	Text:     "Gut: ich schreibe die Datei für Sie, <sofort> & ohne Umschweife.",
	ToolCalls: []ToolCall{
		{Name: "Write", Input: map[string]any{"file_path": "{{dir}}/a.txt", "content": "größer \"zitiert\"\n"}},
		{Name: "Bash", Input: map[string]any{"command": "cat a.txt"}},
	},
	Usage: Usage{Input: 1000, Output: 50, CacheRead: 200, CacheWrite: 30, Reasoning: 7},
}

// customTurn has calls of custom tools, which only the Responses API has.
var customTurn = Turn{ToolCalls: []ToolCall{
	{Name: "exec", Custom: true, Raw: "text(await tools.list({dir: \"{{dir}}\"}))"},
	{Name: "pwd", Custom: true},
	{Name: "lookup"},
}}

// overloaded breaks off a stream with an error.
var overloaded = Turn{
	Text: "never all of it is seen by anybody", MidStream: true, CutAfter: 4,
	ErrorType: "overloaded_error", ErrorMessage: "Overloaded",
}

func TestGolden(t *testing.T) {
	const sse, whole = "text/event-stream", "application/json"
	cases := []struct {
		file, path, body string
		turn             Turn
		kind             string
	}{
		{"anthropic/stream.sse", "/v1/messages", question(true, "hello"), fullTurn, sse},
		{"anthropic/whole.json", "/v1/messages", question(false, "hello"), fullTurn, whole},
		{"anthropic/stop_reason.sse", "/v1/messages", question(true, "hello"), Turn{Text: "cut short", StopReason: "max_tokens"}, sse},
		{"anthropic/mid_stream.sse", "/v1/messages", question(true, "hello"), overloaded, sse},
		{"responses/stream.sse", "/v1/responses", openAIQuestion(), fullTurn, sse},
		{"responses/custom.sse", "/v1/responses", openAIQuestion(), customTurn, sse},
		{"responses/failed.sse", "/v1/responses", openAIQuestion(), overloaded, sse},
		{"chat/stream.sse", "/v1/chat/completions", openAIQuestion(), fullTurn, sse},
		{"chat/stop_reason.sse", "/v1/chat/completions", openAIQuestion(), Turn{Text: "cut short", StopReason: "length"}, sse},
		{"chat/mid_stream.sse", "/v1/chat/completions", openAIQuestion(), overloaded, sse},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			server, client := load(t, Script{Vars: map[string]string{"dir": `/tmp/"odd" dir`}, Turns: []Turn{c.turn}})
			got := client.do(t, http.MethodPost, server.Base("it")+c.path, c.body)
			if got.Err != nil || got.Status != http.StatusOK {
				t.Fatalf("got status %d, error %v", got.Status, got.Err)
			}
			if kind := got.Header.Get("Content-Type"); kind != c.kind {
				t.Errorf("content type %q, want %q", kind, c.kind)
			}
			golden(t, filepath.FromSlash(c.file), got.Body)
		})
	}
}

// openAIQuestion returns the body of a request that both OpenAI APIs accept.
func openAIQuestion() string {
	return string(mustMarshal(map[string]any{
		"model": "gpt-test", "stream": true, "tools": []any{map[string]any{"type": "custom", "name": "exec"}},
		"input": "hello", "messages": []any{map[string]any{"role": "user", "content": "hello"}},
	}))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		check(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update to make it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
