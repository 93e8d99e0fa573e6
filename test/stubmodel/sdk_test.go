package stubmodel

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// received is the library's form of an answer.
type received struct {
	Thinking, Text string
	Calls          []receivedCall
	Usage          Usage // as a script counts
	End            string
}

type receivedCall struct {
	ID, Name, Input string
	Custom          bool
}

// eachMode runs a test with the library, streamed and whole. The libraries of the other two APIs read the stub's answers in
// the tests of plugins/agent.
func eachMode(t *testing.T, test func(t *testing.T, stream bool)) {
	t.Helper()
	for mode, stream := range map[string]bool{"streamed": true, "whole": false} {
		t.Run(mode, func(t *testing.T) { test(t, stream) })
	}
}

// connect points the library at a server that has one script, "it".
func connect(t *testing.T, script Script) (*Server, *responsesSDK) {
	t.Helper()
	server, client := load(t, script)
	return server, newResponsesSDK(server.Base("it"), client.http)
}

// withoutIDs leaves the ids out: they are of the server's making.
func withoutIDs(h received) []receivedCall {
	var calls []receivedCall
	for _, call := range h.Calls {
		call.ID = ""
		calls = append(calls, call)
	}
	return calls
}

func TestSDKConversation(t *testing.T) {
	eachMode(t, func(t *testing.T, stream bool) {
		done := Turn{
			Text: "Done.", Usage: Usage{Input: 1100, Output: 5},
			Expect: &Expect{Model: "^test-model$", System: `^Be brief\.$`, Prompt: "^hello$", ToolResult: "^wrote it\nread it$"},
		}
		server, agent := connect(t, Script{
			Vars: map[string]string{"dir": "/tmp"}, Turns: []Turn{fullTurn, done}, After: AfterError,
		})
		got, err := agent.ask(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		got.Calls = withoutIDs(got)
		want := received{
			Thinking: fullTurn.Thinking, Text: fullTurn.Text, Usage: fullTurn.Usage, End: "completed",
			Calls: []receivedCall{
				{Name: "Write", Input: `{"content":"größer \"zitiert\"\n","file_path":"/tmp/a.txt"}`},
				{Name: "Bash", Input: `{"command":"cat a.txt"}`},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("first answer (-want +got):\n%s", diff)
		}
		if got, err = agent.ask(t.Context(), stream, "wrote it", "read it"); err != nil {
			t.Fatal(err)
		}
		want = received{Text: "Done.", Usage: done.Usage, End: "completed"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("second answer (-want +got):\n%s", diff)
		}
		if faults := server.Faults(""); faults != nil {
			t.Errorf("faults %q", faults)
		}
		for i, r := range server.Requests("it") {
			if r.API != "responses" || r.Turn != i+1 || r.Side || r.Model != "test-model" || r.Prompt != "hello" {
				t.Errorf("recorded %+v", r)
			}
		}
	})
}

func TestSDKBrokenAnswers(t *testing.T) {
	const text = "never all of it is seen by anybody, for the end is missing"
	turns := map[string]Turn{
		"cut":        {Text: text, CutAfter: 3},
		"mid-stream": {Text: text, CutAfter: 3, MidStream: true, ErrorType: "overloaded_error"},
	}
	for how, turn := range turns {
		t.Run(how, func(t *testing.T) {
			eachMode(t, func(t *testing.T, stream bool) {
				_, agent := connect(t, Script{Turns: []Turn{turn}})
				got, err := agent.ask(t.Context(), stream)
				if err == nil || got.End != "" {
					t.Errorf("got %+v, error %v; want an error and no end", got, err)
				}
			})
		})
	}
}

// TestSDKCustomTools: one API has them, the others refuse the script aloud.
func TestSDKCustomTools(t *testing.T) {
	script := Script{
		Vars: map[string]string{"dir": "/tmp"}, After: AfterError,
		Turns: []Turn{customTurn, {Text: "Done.", Expect: &Expect{ToolResult: "^1\n2\n3$"}}},
	}
	eachMode(t, func(t *testing.T, stream bool) {
		server, agent := connect(t, script)
		got, err := agent.ask(t.Context(), stream)
		want := []receivedCall{
			{Name: "exec", Input: `text(await tools.list({dir: "/tmp"}))`, Custom: true},
			{Name: "pwd", Custom: true},
			{Name: "lookup", Input: "{}"},
		}
		if diff := cmp.Diff(want, withoutIDs(got)); err != nil || diff != "" {
			t.Errorf("error %v, (-want +got):\n%s", err, diff)
		}
		if got, err := agent.ask(t.Context(), stream, "1", "2", "3"); err != nil || got.Text != "Done." {
			t.Errorf("got %+v, error %v, faults %q", got, err, server.Faults("it"))
		}
		for _, path := range []string{"/v1/messages", "/v1/chat/completions"} {
			server, client := load(t, script)
			got := client.do(t, http.MethodPost, server.Base("it")+path, openAIQuestion(stream))
			if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "has no custom tool calls") || len(server.Faults("it")) != 1 {
				t.Errorf("%s: got %+v, faults %q", path, got, server.Faults("it"))
			}
		}
	})
}
