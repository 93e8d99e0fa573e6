package ground

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Model is a local model service with OpenAI's chat completions protocol that answers immediately. It requests a number
// of file reads, then the end of the attempt, and repeats this sequence. The caller closes it.
type Model struct {
	// Environment makes the provider agent of a run use this model.
	Environment []string

	server *httptest.Server
	reads  int

	mu       sync.Mutex // guards the fields below
	requests int
	answered time.Time // end of the last reply
	gaps     []Gap
}

// Gap is the time from the end of a reply to the next request.
type Gap struct {
	Seconds float64
	// Turn is true between replies of one attempt, false between attempts.
	Turn bool
}

// File is the file that the model requests, relative to the project.
const File = "notes.txt"

// StartModel starts a model that requests a number of reads before the end of an attempt. Plugins find the model
// through its config.yaml.
func (g *Ground) StartModel(reads int) (*Model, error) {
	dir, err := g.Dir("config")
	if err != nil {
		return nil, err
	}
	m := &Model{reads: reads, Environment: []string{"XDG_CONFIG_HOME=" + dir, "MOCK_MODE="}}
	m.server = httptest.NewServer(http.HandlerFunc(m.serve))
	text := fmt.Sprintf("providers:\n  agent: {config: {api: openai, base_url: \"%s/v1\", model: bench, max_turns: %d}}\n", m.server.URL, reads+2)
	file := filepath.Join(dir, "agent-pipelines", "config.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Close ends the service after its replies.
func (m *Model) Close() { m.server.Close() }

// Gaps returns the gaps since the last call of Gaps. The time before the first request is not a gap.
func (m *Model) Gaps() []Gap {
	m.mu.Lock()
	defer m.mu.Unlock()
	gaps := m.gaps
	m.gaps, m.answered = nil, time.Time{}
	return gaps
}

// serve sends one reply.
func (m *Model) serve(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	m.mu.Lock()
	turn := m.requests % (m.reads + 1)
	if !m.answered.IsZero() {
		m.gaps = append(m.gaps, Gap{now.Sub(m.answered).Seconds(), turn > 0})
	}
	m.requests++
	call := m.call(turn)
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []map[string]any{
		{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "tool_calls": []any{call}}}}},
		{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": "tool_calls"}}},
		{"choices": []any{}, "usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}},
	} {
		chunk["id"], chunk["object"], chunk["created"], chunk["model"] = "c", "chat.completion.chunk", 1, "bench"
		text, _ := json.Marshal(chunk) // only texts and numbers
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
	m.mu.Lock()
	m.answered = time.Now()
	m.mu.Unlock()
}

// call returns the tool call of a turn; turns count from 0. The caller holds mu.
func (m *Model) call(turn int) map[string]any {
	name, args := "read_file", fmt.Sprintf(`{"path":%q,"offset":%d}`, File, turn+1) // another part each time, so that no result is cached
	if turn == m.reads {
		name, args = "finish", `{"outcome":"success","summary":"done"}`
	}
	return map[string]any{
		"index": 0, "id": fmt.Sprintf("call-%d", m.requests), "type": "function", "function": map[string]string{"name": name, "arguments": args},
	}
}
