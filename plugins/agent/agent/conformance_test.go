package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/stub"
)

func TestConformance(t *testing.T) {
	server := stub.Start(t)
	load := func(name, turns string) json.RawMessage {
		base := server.Script(t, name, `{"turns":[`+turns+`]}`)
		return settings("openai", base, `,"prices":{"stub-model":{"input":1,"output":2}}`)
	}
	const usage = `,"usage":{"input":100,"output":10}`
	call := func(tool, input string) string {
		return fmt.Sprintf(`{"text":"So.","tool_calls":[{"name":%q,"input":%s}]%s}`, tool, input, usage)
	}
	finish := call("finish", `{"outcome":"success","summary":"done"}`)
	full := func() json.RawMessage {
		return load("full", strings.Join([]string{
			call("write_file", `{"path":"a","content":"x"}`), call("run_terminal", `{"command":"git version"}`), finish,
			finish, // for the resumed attempt
		}, ","))
	}
	plugintest.Provider(t, plugintest.ProviderConfig{
		New: func(testing.TB) sdk.Provider {
			full() // restart the script
			return NewProvider(environ)
		},
		Normal: plugintest.Case{Prompt: "hello", Config: load("normal", finish)},
		Full:   &plugintest.Case{Prompt: "hello", Config: full()},
		Slow:   plugintest.Case{Prompt: "hello", Config: load("slow", `{"hang":true}`)},
		Large:  plugintest.Case{Prompt: "hello", Config: large(t)},
		Refused: []json.RawMessage{
			json.RawMessage(`{"model":"m","api":"gemini"}`), json.RawMessage(`{"model":"m","api_key":"k"}`), json.RawMessage(`{"model":"m","max_turns":0}`),
		},
	})
}

// large returns the configuration for a service that sends more than 4 MiB at once: the stub streams word by word,
// which is slow.
func large(t *testing.T) json.RawMessage {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the connection closes before the answer is read
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\n", strings.Repeat("x", 5<<20))
	}))
	t.Cleanup(server.Close)
	return settings("openai", server.URL, "")
}
