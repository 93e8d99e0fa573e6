package stubmodel

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sdk is an official client library in the hands of a small agent: it says "Be brief." and "hello",
// and offers the tools Write and Bash. It keeps the conversation.
type sdk interface {
	// ask continues the conversation; the results answer the calls of the answer before, in order.
	ask(ctx context.Context, stream bool, results ...string) (received, error)
	// refusal is the status of an error that the service gave.
	refusal(err error) (status int)
}

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

// connection is how a library reaches the stub.
type connection struct {
	base string // of the script
	http *http.Client
}

// libraries are the libraries and the words that their APIs have for the same things.
var libraries = map[string]struct {
	connect  func(connection) sdk
	end      string // of an answer
	toolsEnd string // of one with tool calls
}{
	"anthropic": {newAnthropicSDK, "end_turn", "tool_use"},
	"responses": {newResponsesSDK, "completed", "completed"},
	"chat":      {newChatSDK, "stop", "tool_calls"},
}

// eachSDK runs a test with every library, streamed and whole.
func eachSDK(t *testing.T, test func(t *testing.T, name string, stream bool)) {
	t.Helper()
	for name := range libraries {
		for mode, stream := range map[string]bool{"streamed": true, "whole": false} {
			t.Run(name+" "+mode, func(t *testing.T) { test(t, name, stream) })
		}
	}
}

// connect points a library at a server that has one script, "it".
func connect(t *testing.T, name string, script Script) (*Server, sdk) {
	t.Helper()
	server, client := load(t, script)
	return server, libraries[name].connect(connection{server.Base("it"), client.http})
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
	failed := false
	eachSDK(t, func(t *testing.T, name string, stream bool) {
		library := libraries[name]
		done := Turn{
			Text: "Done.", Usage: Usage{Input: 1100, Output: 5},
			Expect: &Expect{Model: "^test-model$", System: `^Be brief\.$`, Prompt: "^hello$", ToolResult: "^wrote it\nread it$"},
		}
		if name == "anthropic" {
			done.Expect.ToolError = &failed
		}
		server, agent := connect(t, name, Script{
			Vars: map[string]string{"dir": "/tmp"}, Turns: []Turn{fullTurn, done}, After: AfterError,
		})
		got, err := agent.ask(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		got.Calls = withoutIDs(got)
		want := received{
			Thinking: fullTurn.Thinking, Text: fullTurn.Text, Usage: fullTurn.Usage, End: library.toolsEnd,
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
		want = received{Text: "Done.", Usage: done.Usage, End: library.end}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("second answer (-want +got):\n%s", diff)
		}
		if faults := server.Faults(""); faults != nil {
			t.Errorf("faults %q", faults)
		}
		for i, r := range server.Requests("it") {
			if r.API != name || r.Turn != i+1 || r.Side || r.Model != "test-model" || r.Prompt != "hello" {
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
			eachSDK(t, func(t *testing.T, name string, stream bool) {
				_, agent := connect(t, name, Script{Turns: []Turn{turn}})
				got, err := agent.ask(t.Context(), stream)
				if err == nil || got.End != "" {
					t.Errorf("got %+v, error %v; want an error and no end", got, err)
				}
				if status := agent.refusal(err); turn.MidStream && !stream && status != 500 {
					t.Errorf("got status %d, error %v", status, err)
				}
			})
		})
	}
}

// TestSDKCustomTools: one API has them, the others refuse the script aloud.
func TestSDKCustomTools(t *testing.T) {
	eachSDK(t, func(t *testing.T, name string, stream bool) {
		server, agent := connect(t, name, Script{
			Vars: map[string]string{"dir": "/tmp"}, After: AfterError,
			Turns: []Turn{customTurn, {Text: "Done.", Expect: &Expect{ToolResult: "^1\n2\n3$"}}},
		})
		got, err := agent.ask(t.Context(), stream)
		if name != "responses" {
			if status := agent.refusal(err); status != 400 || len(server.Faults("it")) != 1 {
				t.Errorf("got %+v, error %v, faults %q", got, err, server.Faults("it"))
			}
			return
		}
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
	})
}
