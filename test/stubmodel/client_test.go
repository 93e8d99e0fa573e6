package stubmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// client sends requests to a server as an agent does.
type client struct {
	http *http.Client
}

func newClient(t *testing.T) client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return client{http: &http.Client{Transport: transport}}
}

// reply is the received part of an answer. Err is the reason why the rest is missing.
type reply struct {
	Status int
	Header http.Header
	Body   string
	Err    error
}

func (c client) do(t *testing.T, method, url, body string, header ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	check(t, err)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.http.Do(request)
	if err != nil {
		return reply{Err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{Status: response.StatusCode, Header: response.Header, Body: string(text), Err: err}
}

// ask sends a message request.
func (c client) ask(t *testing.T, base, body string, header ...string) reply {
	t.Helper()
	return c.do(t, http.MethodPost, base+"/v1/messages?beta=true", body, header...)
}

// question returns the body of a message request that offers one tool. It has the user's text and optional results of
// the tool after the text.
func question(stream bool, prompt string, toolResults ...string) string {
	messages := []any{map[string]any{"role": "user", "content": prompt}}
	for i, result := range toolResults {
		id := fmt.Sprintf("toolu_%d", i)
		messages = append(messages,
			map[string]any{"role": "assistant", "content": []any{
				map[string]any{"type": "tool_use", "id": id, "name": "Write", "input": map[string]any{}},
			}},
			map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": id, "content": result},
			}})
	}
	text, err := json.Marshal(map[string]any{
		"model": "claude-test", "stream": stream, "system": "Be brief.",
		"tools": []any{map[string]any{"name": "Write"}}, "messages": messages,
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// load starts a server with one script, named "it".
func load(t *testing.T, script Script) (*Server, client) {
	t.Helper()
	server := Start(t)
	check(t, server.SetScript("it", script))
	return server, newClient(t)
}

// messageText returns the text of a whole message, or the error's message.
func messageText(t *testing.T, r reply) string {
	t.Helper()
	var message struct {
		Content []struct{ Text string }
		Error   struct{ Message string }
	}
	if err := json.Unmarshal([]byte(r.Body), &message); err != nil {
		t.Fatalf("status %d, body %q: %v", r.Status, r.Body, err)
	}
	if len(message.Content) > 0 {
		return message.Content[0].Text
	}
	return message.Error.Message
}
