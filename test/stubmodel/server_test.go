package stubmodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOnlyLoopback(t *testing.T) {
	if server := Start(t); !strings.HasPrefix(server.URL(), "http://127.0.0.1:") {
		t.Errorf("it listens on %s", server.URL())
	}
}

func TestRoutes(t *testing.T) {
	server, client := load(t, Script{Turns: []Turn{{Text: "hi"}}})
	cases := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/", "", 200, ""},
		{"HEAD", "/s/it", "", 200, ""},
		{"GET", "/s/it/", "", 200, ""},
		{"GET", "/s/it/v1/models?limit=9", "", 200, `{"data":[],"models":[],"object":"list"}`},
		{"POST", "/s/it/v1/messages/count_tokens?beta=true", `{"messages":[{}]}`, 200, `{"input_tokens":4}`},
		{"POST", "/s/none/v1/messages", question(false, "x"), 404, `no script \"none\" is loaded`},
		{"POST", "/v1/messages", question(false, "x"), 404, `no script \"default\" is loaded`},
		{"POST", "/s/it/v1/messages", `{"model":1}`, 400, "request body: json"},
		{"POST", "/s/it/v1/messages", `no json`, 400, "request body: invalid character"},
		{"GET", "/s/it/v1/messages", "", 404, "unexpected request GET /v1/messages"},
		{"POST", "/s/it/v1/responses", `{"input":[{"role":1}]}`, 400, `"type":"invalid_request_error"`},
		{"POST", "/s/none/v1/chat/completions", "{}", 404, `"code":"model_not_found"`},
		{"GET", "/s/it/v1/responses", "", 404, "unexpected request GET /v1/responses"},
		{"POST", "/api/event_logging", "{}", 404, "unexpected request POST /api/event_logging"},
		{"GET", "/__stub/nothing", "", 404, "404 page not found"},
	}
	for _, c := range cases {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			got := client.do(t, c.method, server.URL()+c.path, c.body)
			if got.Err != nil || got.Status != c.status || !strings.Contains(got.Body, c.want) {
				t.Errorf("got %+v, want status %d with %s", got, c.status, c.want)
			}
		})
	}
	wantFaults := []string{
		`request 6, POST /s/none/v1/messages: no script "none" is loaded`,
		`request 7, POST /v1/messages: no script "default" is loaded`,
		"request 8, POST /s/it/v1/messages: request body: json: cannot unmarshal number into Go struct field anthropicRequest.model of type string",
		"request 9, POST /s/it/v1/messages: request body: invalid character 'o' in literal null (expecting 'u')",
		"request 10, GET /s/it/v1/messages: unexpected request GET /v1/messages",
		"request 11, POST /s/it/v1/responses: request body: json: cannot unmarshal number into Go struct field responsesRequest.input.role of type string",
		`request 12, POST /s/none/v1/chat/completions: no script "none" is loaded`,
		"request 13, GET /s/it/v1/responses: unexpected request GET /v1/responses",
		"request 14, POST /api/event_logging: unexpected request POST /api/event_logging",
	}
	compare(t, wantFaults, server.Faults(""))
}

// TestWebSocketIsDeclined checks the status at which agents that try a WebSocket first fall back to POST.
func TestWebSocketIsDeclined(t *testing.T) {
	server, client := load(t, Script{Turns: []Turn{{Text: "hi"}}})
	got := client.do(t, http.MethodGet, server.Base("it")+"/v1/responses", "", "Connection", "Upgrade", "Upgrade", "websocket")
	if got.Err != nil || got.Status != http.StatusUpgradeRequired || got.Body != "" {
		t.Errorf("got %+v", got)
	}
	if faults := server.Faults(""); faults != nil {
		t.Errorf("faults %q", faults)
	}
}

func TestControlRoutes(t *testing.T) {
	server, client := Start(t), newClient(t)
	put := func(name, text string) reply {
		return client.do(t, http.MethodPut, server.URL()+"/__stub/script/"+name, text)
	}
	if got := put("default", `{"turns":[{"text":"one"},{"text":"two"}]}`); got.Status != 204 {
		t.Fatalf("load: %+v", got)
	}
	if got := messageText(t, client.ask(t, server.URL(), question(false, "x"))); got != "one" {
		t.Errorf("got %q", got)
	}
	if got := put("default", `{"turns":[{"text":"again"}]}`); got.Status != 204 {
		t.Fatalf("load again: %+v", got)
	}
	if got := messageText(t, client.ask(t, server.URL(), question(false, "x"))); got != "again" {
		t.Errorf("got %q after the script was replaced", got)
	}
	if got := put("bad", `{}`); got.Status != 400 || !strings.Contains(got.Body, "at least one") {
		t.Errorf("bad script: %+v", got)
	}
	if got := put("a%20b", `{"turns":[{}]}`); got.Status != 400 || !strings.Contains(got.Body, "only letters") {
		t.Errorf("bad name: %+v", got)
	}
	var listed []Request
	got := client.do(t, http.MethodGet, server.URL()+"/__stub/requests?script=default", "")
	if err := json.Unmarshal([]byte(got.Body), &listed); err != nil {
		t.Fatalf("%v in %s", err, got.Body)
	}
	if len(listed) != 2 || listed[1].Prompt != "x" {
		t.Errorf("listed %+v", listed)
	}
}

func TestRecord(t *testing.T) {
	server, client := load(t, Script{Turns: []Turn{{Text: "hi"}}})
	body := question(true, "is it recorded?", "a tool result")
	client.ask(t, server.Base("it"), body, "X-Api-Key", "dummy")
	client.do(t, http.MethodPost, server.Base("it")+"/odd", "no json")
	got := server.Requests("it")
	want := []Request{
		{
			N: 1, Script: "it", Method: "POST", Path: "/s/it/v1/messages?beta=true", Model: "claude-test",
			Prompt: "is it recorded?", Turn: 1, Body: json.RawMessage(body),
		},
		{
			N: 2, Script: "it", Method: "POST", Path: "/s/it/odd",
			Fault: "unexpected request POST /odd", Body: json.RawMessage(`"no json"`),
		},
	}
	if key := got[0].Headers.Get("X-Api-Key"); key != "dummy" {
		t.Errorf("recorded key %q", key)
	}
	for i := range got {
		got[i].Headers = nil
	}
	compare(t, want, got)
}

func TestBrokenAnswers(t *testing.T) {
	long := strings.Repeat("a long answer ", 20)
	cases := []struct {
		name   string
		stream bool
		turn   Turn
		check  func(t *testing.T, got reply)
	}{
		{"stream cut", true, Turn{Text: long, CutAfter: 3}, func(t *testing.T, got reply) {
			if events := strings.Count(got.Body, "event: "); got.Err == nil || events != 3 {
				t.Errorf("got %d events and error %v, want 3 and an error", events, got.Err)
			}
		}},
		{"stream cut after its end", true, Turn{Text: "x", CutAfter: 99}, func(t *testing.T, got reply) {
			if got.Err == nil || !strings.Contains(got.Body, "message_stop") {
				t.Errorf("got %q, error %v", got.Body, got.Err)
			}
		}},
		{"body cut", false, Turn{Text: long, CutAfter: 3}, func(t *testing.T, got reply) {
			if got.Err == nil || got.Body == "" || json.Valid([]byte(got.Body)) {
				t.Errorf("got %q, error %v; want half a body and an error", got.Body, got.Err)
			}
		}},
		{"error instead of a body", false, Turn{Text: long, MidStream: true, ErrorType: "overloaded_error"}, func(t *testing.T, got reply) {
			if got.Err != nil || got.Status != 500 || !strings.Contains(got.Body, "overloaded_error") {
				t.Errorf("got %+v", got)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, client := load(t, Script{Turns: []Turn{c.turn}})
			c.check(t, client.ask(t, server.Base("it"), question(c.stream, "go")))
		})
	}
}

func TestHangEndsWithTheServer(t *testing.T) {
	server, client := load(t, Script{Turns: []Turn{{Hang: true}}})
	var got reply
	var asking sync.WaitGroup
	asking.Go(func() { got = client.ask(t, server.Base("it"), question(true, "go")) })
	for len(server.Requests("it")) == 0 {
		time.Sleep(time.Millisecond)
	}
	server.Close()
	server.Close()
	asking.Wait()
	if got.Body != "" {
		t.Errorf("got %q", got.Body)
	}
}

func TestSetScriptRefuses(t *testing.T) {
	server := Start(t)
	if err := server.SetScript("a/b", Script{Turns: []Turn{{}}}); err == nil {
		t.Error("accepted a name that cannot be in a path")
	}
	if err := server.SetScript("a", Script{}); err == nil || !strings.Contains(err.Error(), `script "a"`) {
		t.Errorf("got %v", err)
	}
}
