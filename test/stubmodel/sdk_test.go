package stubmodel

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sdk is an official client library in the hands of a small agent: it says "Be brief." and "hello",
// and offers the tools Write and Bash. It keeps the conversation.
type sdk interface {
	// ask continues the conversation; the results answer the calls of the answer before, in order.
	ask(ctx context.Context, stream bool, results ...string) (received, error)
	// refusal are the status and the words of an error that the service gave.
	refusal(err error) (status int, words string)
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
	Namespace       string
}

// connection is how a library reaches the stub.
type connection struct {
	base    string // of the script
	http    *http.Client
	retries int
}

// libraries are the libraries and the words that their APIs have for the same things.
var libraries = map[string]struct {
	connect    func(connection) sdk
	end        string // of an answer
	toolsEnd   string // of one with tool calls
	stopReason string // that a script gives
	stopEnd    string // what becomes of it
	overloaded string // words of a 503
}{
	"anthropic": {
		connect: newAnthropicSDK, end: "end_turn", toolsEnd: "tool_use",
		stopReason: "max_tokens", stopEnd: "max_tokens", overloaded: "api_error",
	},
	"responses": {
		connect: newResponsesSDK, end: "completed", toolsEnd: "completed",
		stopReason: "max_output_tokens", stopEnd: "incomplete: max_output_tokens",
		overloaded: "service_unavailable_error server_is_overloaded",
	},
	"chat": {
		connect: newChatSDK, end: "stop", toolsEnd: "tool_calls",
		stopReason: "length", stopEnd: "length", overloaded: "service_unavailable_error server_is_overloaded",
	},
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
func connect(t *testing.T, name string, retries int, script Script) (*Server, sdk) {
	t.Helper()
	server, client := load(t, script)
	return server, libraries[name].connect(connection{server.Base("it"), client.http, retries})
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
			Text: "Done.", Usage: Usage{Input: 1100, Output: 5}, DelayMS: 1, ChunkDelayMS: 1,
			Expect: &Expect{Model: "^test-model$", System: `^Be brief\.$`, Prompt: "^hello$", ToolResult: "^wrote it\nread it$"},
		}
		if name == "anthropic" {
			done.Expect.ToolError = &failed
		}
		server, agent := connect(t, name, 0, Script{
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

func TestSDKStopReason(t *testing.T) {
	eachSDK(t, func(t *testing.T, name string, stream bool) {
		library := libraries[name]
		_, agent := connect(t, name, 0, Script{Turns: []Turn{{Text: "cut", StopReason: library.stopReason}}})
		got, err := agent.ask(t.Context(), stream)
		if diff := cmp.Diff(received{Text: "cut", End: library.stopEnd}, got); err != nil || diff != "" {
			t.Errorf("error %v, (-want +got):\n%s", err, diff)
		}
	})
}

func TestSDKErrors(t *testing.T) {
	eachSDK(t, func(t *testing.T, name string, stream bool) {
		_, agent := connect(t, name, 0, Script{Turns: []Turn{{Status: 503}, {Status: 400, ErrorType: "my_error"}}})
		_, err := agent.ask(t.Context(), stream)
		if status, words := agent.refusal(err); status != 503 || words != libraries[name].overloaded {
			t.Errorf("got status %d, words %q: %v", status, words, err)
		}
		_, err = agent.ask(t.Context(), stream)
		want := "my_error my_error"
		if name == "anthropic" {
			want = "my_error"
		}
		if status, words := agent.refusal(err); status != 400 || words != want {
			t.Errorf("got status %d, words %q: %v", status, words, err)
		}
	})
}

// TestSDKRetries: the libraries see when the service says to come again.
func TestSDKRetries(t *testing.T) {
	eachSDK(t, func(t *testing.T, name string, stream bool) {
		server, agent := connect(t, name, 1, Script{Turns: []Turn{
			{Status: 429, Headers: map[string]string{"retry-after-ms": "1"}}, {Text: "at last"},
		}, After: AfterError})
		got, err := agent.ask(t.Context(), stream)
		if err != nil || got.Text != "at last" {
			t.Errorf("got %+v, error %v", got, err)
		}
		server.handlers.Wait() // an answer is recorded when its last byte is out, which a client need not wait for
		var statuses []int
		for _, r := range server.Requests("it") {
			statuses = append(statuses, r.Status)
		}
		if diff := cmp.Diff([]int{429, 200}, statuses); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
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
				_, agent := connect(t, name, 0, Script{Turns: []Turn{turn}})
				got, err := agent.ask(t.Context(), stream)
				if err == nil || got.End != "" {
					t.Errorf("got %+v, error %v; want an error and no end", got, err)
				}
				if status, _ := agent.refusal(err); turn.MidStream && !stream && status != 500 {
					t.Errorf("got status %d, error %v", status, err)
				}
			})
		})
	}
}

func TestSDKThatLeaves(t *testing.T) {
	eachSDK(t, func(t *testing.T, name string, stream bool) {
		server, agent := connect(t, name, 0, Script{Turns: []Turn{{Hang: true}}})
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		var err error
		var asking sync.WaitGroup
		asking.Go(func() { _, err = agent.ask(ctx, stream) })
		if _, err := server.Wait(t.Context(), "it", 1); err != nil {
			t.Fatal(err)
		}
		leave()
		asking.Wait()
		if err == nil {
			t.Error("the answer that never came is no error")
		}
		server.handlers.Wait()
		if got := server.Requests("it")[0]; !got.ClientGone {
			t.Errorf("not recorded: %+v", got)
		}
	})
}

// TestSDKCustomTools: one API has them, the others refuse the script aloud.
func TestSDKCustomTools(t *testing.T) {
	eachSDK(t, func(t *testing.T, name string, stream bool) {
		server, agent := connect(t, name, 0, Script{
			Vars: map[string]string{"dir": "/tmp"}, After: AfterError,
			Turns: []Turn{customTurn, {Text: "Done.", Expect: &Expect{ToolResult: "^1\n2\n3$"}}},
		})
		got, err := agent.ask(t.Context(), stream)
		if name != "responses" {
			if status, _ := agent.refusal(err); status != 400 || len(server.Faults("it")) != 1 {
				t.Errorf("got %+v, error %v, faults %q", got, err, server.Faults("it"))
			}
			return
		}
		want := []receivedCall{
			{Name: "exec", Input: `text(await tools.list({dir: "/tmp"}))`, Custom: true, Namespace: "functions"},
			{Name: "pwd", Custom: true},
			{Name: "lookup", Input: "{}", Namespace: "mcp__docs"},
		}
		if diff := cmp.Diff(want, withoutIDs(got)); err != nil || diff != "" {
			t.Errorf("error %v, (-want +got):\n%s", err, diff)
		}
		if got, err := agent.ask(t.Context(), stream, "1", "2", "3"); err != nil || got.Text != "Done." {
			t.Errorf("got %+v, error %v, faults %q", got, err, server.Faults("it"))
		}
	})
}
