package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/stub"
)

func TestMain(m *testing.M) { os.Exit(stub.Main(m, func() error { return goleak.Find() })) }

// bases are the paths of the APIs below a script's address.
var bases = map[API]string{OpenAI: "/v1", Anthropic: ""}

// connect returns a client of a service.
func connect(t *testing.T, e Endpoint) Client {
	t.Helper()
	c, closeIdle, err := New(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeIdle)
	return c
}

// scripted runs a test with a client of each API whose service follows the script.
func scripted(t *testing.T, script string, test func(t *testing.T, api API, c Client, server *stub.Server)) {
	t.Helper()
	for api, path := range bases {
		t.Run(string(api), func(t *testing.T) {
			server := stub.Start(t)
			c := connect(t, Endpoint{API: api, BaseURL: server.Script(t, "it", script) + path, Key: "made-up", Headers: map[string]string{"X-Team": "blue"}})
			test(t, api, c, server)
		})
	}
}

// fullRequest is a request with all parts.
var fullRequest = Request{
	Model: "test-model", System: "Be brief.", MaxTokens: 500, Effort: "low",
	Tools: []Tool{{Name: "read_file", Description: "Reads.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)}},
	Messages: []Message{
		{Role: User, Text: "Read a.txt."},
		{Role: Assistant, Text: "I look.", Thinking: []Thinking{{Text: "hm", Signature: "sig"}}, Calls: []Call{{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"path":"a.txt"}`)}}},
		{Role: Results, Results: []Result{{CallID: "c1", Text: "no such file", Error: true}}},
	},
}

func newCount(n int64) *int64 { return &n }

func TestReply(t *testing.T) { // U168, U182
	const script = `{"turns":[{"text":"I try größere Dinge, & mehr.","tool_calls":[
		{"name":"read_file","input":{"path":"b.txt"}},{"name":"read_file","input":{"path":"c.txt","deep":{"a":[1,"<"]}}}],
		"usage":{"input":1000,"output":50,"cache_read":200,"cache_write":30,"reasoning":7},
		"expect":{"model":"^test-model$","system":"^Be brief.$","prompt":"^Read a.txt.$","tool_result":"no such file"}}]}`
	scripted(t, script, func(t *testing.T, _ API, c Client, server *stub.Server) {
		var pieces []string
		got, err := c.Reply(t.Context(), fullRequest, func(s string) { pieces = append(pieces, s) })
		if err != nil {
			t.Fatal(err)
		}
		for i, call := range got.Calls {
			if call.ID == "" {
				t.Errorf("call %d has no id", i)
			}
			got.Calls[i].ID = ""
		}
		want := Reply{
			Text: "I try größere Dinge, & mehr.", Model: "test-model", Stop: StopEnd,
			Calls: []Call{
				{Name: "read_file", Args: json.RawMessage(`{"path":"b.txt"}`)},
				{Name: "read_file", Args: json.RawMessage(`{"deep":{"a":[1,"<"]},"path":"c.txt"}`)},
			},
			Usage: sdk.Usage{InputTokens: newCount(1000), OutputTokens: newCount(50), CacheReadTokens: newCount(200), CacheWriteTokens: newCount(30), ReasoningTokens: newCount(7)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if joined := strings.Join(pieces, ""); joined != want.Text || len(pieces) < 3 {
			t.Errorf("streamed %q in %d pieces", joined, len(pieces))
		}
		for _, r := range server.Requests(t, "it") {
			if r.Fault != "" || r.Headers.Get("X-Team") != "blue" {
				t.Errorf("%s: fault %q, header %q", r.Path, r.Fault, r.Headers.Get("X-Team"))
			}
		}
	})
}

// TestIncompleteMessages: services that are not Anthropic's may leave out indexes of blocks, and counts or reasons in an event.
func TestIncompleteMessages(t *testing.T) {
	var body strings.Builder
	for _, event := range []string{
		`"message_start","message":{"model":"m","usage":{"input_tokens":9,"output_tokens":1}}`,
		`"content_block_delta","index":0,"delta":{"type":"text_delta","text":"of no block"}`,
		`"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c","name":"read_file","input":{}}`,
		`"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}`,
		`"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"cache_read_input_tokens":5}`,
		`"message_delta","delta":{"stop_reason":null},"usage":{}`, `"ping"`, `"message_stop"`,
	} {
		fmt.Fprintf(&body, "event: %s\ndata: {\"type\":%s}\n\n", strings.Split(event, `"`)[1], event)
	}
	signs := 0
	got, err := newTestClient(true, answers{200, "text/event-stream", body.String()}).Reply(t.Context(), fullRequest, func(string) { signs++ })
	if signs != 8 {
		t.Errorf("%d signs of life of 8 events", signs)
	}
	want := Reply{
		Calls: []Call{{ID: "c", Name: "read_file", Args: json.RawMessage(`{"a":1}`)}}, Model: "m", Stop: StopLength,
		Usage: sdk.Usage{InputTokens: newCount(9), OutputTokens: newCount(1), CacheReadTokens: newCount(5)},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestSentRequests compares whole requests: a cache mark or a schema in the wrong place causes no error.
func TestSentRequests(t *testing.T) {
	want := map[API]string{
		OpenAI: `{"model":"test-model","max_tokens":500,"reasoning_effort":"low","stream":true,"stream_options":{"include_usage":true},
			"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Read a.txt."},
				{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}]},
				{"role":"tool","tool_call_id":"c1","content":"no such file"}],
			"tools":[{"type":"function","function":{"name":"read_file","description":"Reads.","parameters":
				{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}]}`,
		Anthropic: `{"model":"test-model","max_tokens":500,"output_config":{"effort":"low"},"stream":true,
			"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Read a.txt.","cache_control":{"type":"ephemeral"}}]},
				{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"I look."},
					{"type":"tool_use","id":"c1","name":"read_file","input":{"path":"a.txt"}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":[{"type":"text","text":"no such file"}]}]}],
			"tools":[{"name":"read_file","description":"Reads.","input_schema":
				{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}]}`,
	}
	scripted(t, `{"turns":[{"text":"done"}]}`, func(t *testing.T, api API, c Client, server *stub.Server) {
		if _, err := c.Reply(t.Context(), fullRequest, func(string) {}); err != nil {
			t.Fatal(err)
		}
		var wanted, got any
		sent := server.Requests(t, "it")[0]
		if err := errors.Join(json.Unmarshal([]byte(want[api]), &wanted), json.Unmarshal(sent.Body, &got)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		key := sent.Headers.Get("X-Api-Key") + strings.TrimPrefix(sent.Headers.Get("Authorization"), "Bearer ")
		if key != "made-up" {
			t.Errorf("key %q", key)
		}
	})
}

func TestStop(t *testing.T) {
	tests := []struct{ name, script, anthropic, chat string }{
		{"end", `{"text":"done"}`, "end", "end"},
		{"length", `{"text":"do","stop_reason":"%"}`, "max_tokens", "length"},
		{"refused", `{"text":"no","stop_reason":"%"}`, "refusal", "content_filter"},
	}
	for _, tt := range tests {
		for api, path := range bases {
			t.Run(tt.name+" "+string(api), func(t *testing.T) {
				word := map[API]string{OpenAI: tt.chat, Anthropic: tt.anthropic}[api]
				base := stub.Start(t).Script(t, "it", `{"turns":[`+strings.ReplaceAll(tt.script, "%", word)+`]}`)
				got, err := connect(t, Endpoint{API: api, BaseURL: base + path}).Reply(t.Context(), fullRequest, func(string) {})
				if err != nil || string(got.Stop) != tt.name {
					t.Errorf("got stop %q, error %v", got.Stop, err)
				}
			})
		}
	}
}

func TestMalformedArguments(t *testing.T) { // U169
	const script = `{"turns":[{"tool_calls":[{"name":"read_file","raw":"{\"path\": \"a"},{"name":"read_file","raw":"\"a\""},{"name":"list_directory"}]}]}`
	scripted(t, script, func(t *testing.T, _ API, c Client, _ *stub.Server) {
		got, err := c.Reply(t.Context(), fullRequest, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		var written []string
		for _, call := range got.Calls {
			written = append(written, string(call.Args)+" "+call.Malformed)
		}
		if diff := cmp.Diff([]string{`{} {"path": "a`, `{} "a"`, `{} `}, written); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestFaults(t *testing.T) { // U178
	tests := []struct {
		name, turn string
		outcome    sdk.Outcome
		kind       failure.Kind
		transient  bool
		wait       float64
		hint       string
	}{
		{"rate limit", `{"status":429,"headers":{"Retry-After":"7"}}`, sdk.OutcomeRateLimited, failure.ProviderFailed, true, 7, "wait"},
		{"server error", `{"status":500}`, sdk.OutcomeInfrastructure, failure.ProviderFailed, true, 0, "state of the service"},
		{"overloaded", `{"status":529}`, sdk.OutcomeInfrastructure, failure.ProviderFailed, true, 0, "state of the service"},
		{"bad gateway without JSON", `{"status":502,"error_message":"<html>"}`, sdk.OutcomeInfrastructure, failure.ProviderFailed, true, 0, "state of the service"},
		{"no key", `{"status":401}`, sdk.OutcomeNeedsPerson, failure.ProviderFailed, false, 0, "api_key_env"},
		{"no credit", `{"status":429,"error_type":"insufficient_quota","error_message":"You exceeded your current quota"}`, sdk.OutcomeNeedsPerson, failure.ProviderFailed, false, 0, "billing"},
		{"no model", `{"status":404,"error_message":"model \"x\" not found"}`, sdk.OutcomeFailed, failure.ProviderFailed, false, 0, "no such model"},
		{"too long", `{"status":400,"error_message":"This model's maximum context length is 8192 tokens"}`, sdk.OutcomeFailed, failure.ProviderFailed, false, 0, "context"},
		{"refused", `{"status":400,"error_message":"unsupported parameter: 'reasoning_effort'"}`, sdk.OutcomeFailed, failure.ProviderFailed, false, 0, "see the message"},
		{"no tools", `{"status":400,"error_message":"registry/x does not support tools"}`, sdk.OutcomeFailed, failure.ConfigInvalid, false, 0, "can call tools"},
		{"cut", `{"text":"a long answer that is cut","cut_after":3}`, sdk.OutcomeInfrastructure, failure.ProviderFailed, true, 0, "network"},
		{"broken off", `{"text":"a long answer","mid_stream":true,"cut_after":3,"error_type":"overloaded_error","error_message":"Overloaded"}`, sdk.OutcomeInfrastructure, failure.ProviderFailed, true, 0, "state of the service"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scripted(t, `{"turns":[`+tt.turn+`]}`, func(t *testing.T, _ API, c Client, server *stub.Server) {
				_, err := c.Reply(t.Context(), fullRequest, func(string) {})
				var f *Failure
				if !errors.As(err, &f) {
					t.Fatalf("got %v", err)
				}
				if f.Outcome != tt.outcome || f.Err.Kind != tt.kind || f.Transient() != tt.transient || f.Err.RetryAfterSeconds != tt.wait || !strings.Contains(f.Err.Hint, tt.hint) {
					t.Errorf("outcome %s, kind %s, transient %t, wait %v, message %q, hint %q", f.Outcome, f.Err.Kind, f.Transient(), f.Err.RetryAfterSeconds, f.Err.Message, f.Err.Hint)
				}
				if f.TooLong != (tt.name == "too long") {
					t.Errorf("too long: %t", f.TooLong)
				}
				if failure.From(err) != f.Err {
					t.Error("failure.From does not find it")
				}
				if n := len(server.Requests(t, "it")); n != 1 {
					t.Errorf("%d requests: a retry is the caller's", n)
				}
			})
		})
	}
}

func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	tests := []struct{ base, hint string }{
		{"http://" + address, "is a model service running at " + address},
		{"unix://" + t.TempDir() + "/no.sock", "is a model service running at"},
	}
	for _, tt := range tests {
		for api := range bases {
			_, err := connect(t, Endpoint{API: api, BaseURL: tt.base}).Reply(t.Context(), fullRequest, func(string) {})
			var f *Failure
			if !errors.As(err, &f) || f.Outcome != sdk.OutcomeInfrastructure || !f.Transient() || !strings.Contains(f.Err.Hint, tt.hint) {
				t.Errorf("%s: %#v", tt.base, err)
			}
		}
	}
	ollama := newClassifier(mustParse(t, "http://localhost:11434/v1"))
	if !strings.Contains(ollama.refusedHint, "ollama serve") {
		t.Errorf("hint for ollama: %q", ollama.refusedHint)
	}
}

func TestCancelled(t *testing.T) {
	scripted(t, `{"turns":[{"hang":true}]}`, func(t *testing.T, _ API, c Client, _ *stub.Server) {
		over := errors.New("it is over")
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := time.AfterFunc(50*time.Millisecond, func() { cancel(over) })
		defer stop.Stop()
		if _, err := c.Reply(ctx, fullRequest, func(string) {}); !errors.Is(err, over) {
			t.Errorf("got %v", err)
		}
	})
}

// stream returns a client of a server that sends fixed chunks of Chat Completions, as weak servers do.
func stream(t *testing.T, chunks ...string) Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range chunks {
			_, _ = w.Write([]byte("data: " + c + "\n\n"))
		}
	}))
	t.Cleanup(server.Close)
	return connect(t, Endpoint{API: OpenAI, BaseURL: server.URL + "/v1"})
}

func TestIncompleteServers(t *testing.T) {
	call := func(index int, id, name, args string) string {
		piece, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": []any{
			map[string]any{"index": index, "id": id, "function": map[string]any{"name": name, "arguments": args}},
		}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(piece)
	}
	const end = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	tests := []struct {
		name   string
		chunks []string
		want   []Call
	}{
		{"one index for all", []string{call(0, "a", "x", `{"n":1}`), call(0, "b", "y", `{"n":2}`), end}, []Call{{ID: "a", Name: "x", Args: json.RawMessage(`{"n":1}`)}, {ID: "b", Name: "y", Args: json.RawMessage(`{"n":2}`)}}},
		{"no ids", []string{call(0, "", "x", `{}`), call(1, "", "y", ""), end}, []Call{{ID: "call_1", Name: "x", Args: json.RawMessage(`{}`)}, {ID: "call_2", Name: "y", Args: json.RawMessage(`{}`)}}},
		{"one id for all", []string{call(0, "a", "x", `{}`), call(1, "a", "y", `{}`), end}, []Call{{ID: "a", Name: "x", Args: json.RawMessage(`{}`)}, {ID: "call_2", Name: "y", Args: json.RawMessage(`{}`)}}},
		{"text that looks like a call", []string{`{"choices":[{"index":0,"delta":{"content":"<tool_call>{\"name\":\"x\"}</tool_call>"}}]}`, end}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := stream(t, tt.chunks...).Reply(t.Context(), fullRequest, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Calls); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Usage != (sdk.Usage{}) { // U182: unknown is not zero
				t.Errorf("usage %+v of a service that reports none", got.Usage)
			}
		})
	}
}

func TestMistypedValuesCountAsZero(t *testing.T) {
	got, err := stream(t, `5`, `{"error":null,"model":7,"choices":[{"delta":{"content":"Hi"}}],"usage":{"prompt_tokens":"many","completion_tokens":2}}`,
		`{"choices":[{"delta":{"content":{"a":1}},"finish_reason":"stop"}]}`).Reply(t.Context(), fullRequest, func(string) {})
	if diff := cmp.Diff(Reply{Text: "Hi", Stop: StopEnd, Usage: sdk.Usage{InputTokens: newCount(0), OutputTokens: newCount(2)}}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestPageOfAProxy: a web page is not a message; the status describes the failure.
func TestPageOfAProxy(t *testing.T) {
	for _, second := range []bool{false, true} {
		_, err := newTestClient(second, answers{502, "text/html", "<html>oops"}).Reply(t.Context(), fullRequest, func(string) {})
		var f *Failure
		if !errors.As(err, &f) || strings.Contains(f.Err.Message, "oops") || !strings.Contains(f.Err.Message, "Bad Gateway") || !f.Transient() {
			t.Errorf("got %v", err)
		}
	}
}

func TestCutWithoutAnError(t *testing.T) {
	_, err := stream(t, `{"choices":[{"index":0,"delta":{"content":"half a th"}}]}`).Reply(t.Context(), fullRequest, func(string) {})
	var f *Failure
	if !errors.As(err, &f) || !f.Transient() {
		t.Errorf("an incomplete reply is accepted: %v", err)
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"a":1}`, `{"a":`, "[1]", "null", `"x"`, " {\"a\" : [ 1 ] } "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, written string) {
		args, malformed := parseArguments(written)
		var object map[string]any
		if err := json.Unmarshal(args, &object); err != nil || object == nil {
			t.Errorf("%q became %q: %v", written, args, err)
		}
		if malformed != "" && string(args) != "{}" || len(malformed) > maxMalformed {
			t.Errorf("%q is both %q and malformed %q", written, args, malformed)
		}
	})
}
