package stubmodel

import (
	"encoding/json"
	"fmt"
)

// anthropicMessage is an answer, complete or at its start.
type anthropicMessage struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []any          `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        anthropicUsage `json:"usage"`
}

type anthropicUsage struct {
	Input      int                     `json:"input_tokens"`
	CacheWrite int                     `json:"cache_creation_input_tokens"`
	CacheRead  int                     `json:"cache_read_input_tokens"`
	Output     int                     `json:"output_tokens"`
	Details    *anthropicOutputDetails `json:"output_tokens_details,omitempty"`
}

type anthropicOutputDetails struct {
	Thinking int `json:"thinking_tokens"`
}

type anthropicText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicThinking struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type anthropicToolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// anthropicEvent is the data of a stream's event; the type decides which parts it has.
type anthropicEvent struct {
	Type    string            `json:"type"`
	Message *anthropicMessage `json:"message,omitempty"`
	Index   *int              `json:"index,omitempty"`
	Block   any               `json:"content_block,omitempty"`
	Delta   any               `json:"delta,omitempty"`
	Usage   *anthropicUsage   `json:"usage,omitempty"`
}

func (e anthropicEvent) frame() frame { return frame{event: e.Type, data: e} }

func (anthropic) complete(a answer) (any, error) {
	if err := a.turn.checkPlain("Messages"); err != nil {
		return nil, err
	}
	if err := a.turn.anthropicRaw(); err != nil {
		return nil, err
	}
	message := a.anthropicStart()
	for _, part := range a.anthropicParts() {
		message.Content = append(message.Content, part.complete)
	}
	reason := a.anthropicStopReason()
	message.StopReason = &reason
	message.Usage = newAnthropicUsage(a.turn.Usage)
	return message, nil
}

func (anthropic) stream(a answer) ([]frame, error) {
	if err := a.turn.checkPlain("Messages"); err != nil {
		return nil, err
	}
	start := a.anthropicStart()
	frames := []frame{
		anthropicEvent{Type: "message_start", Message: &start}.frame(),
		anthropicEvent{Type: "ping"}.frame(),
	}
	for i, part := range a.anthropicParts() {
		frames = append(frames, anthropicEvent{Type: "content_block_start", Index: &i, Block: part.empty}.frame())
		for _, delta := range part.deltas {
			frames = append(frames, anthropicEvent{Type: "content_block_delta", Index: &i, Delta: delta}.frame())
		}
		frames = append(frames, anthropicEvent{Type: "content_block_stop", Index: &i}.frame())
	}
	usage := newAnthropicUsage(a.turn.Usage)
	end := map[string]any{"stop_reason": a.anthropicStopReason(), "stop_sequence": nil}
	return append(frames,
		anthropicEvent{Type: "message_delta", Delta: end, Usage: &usage}.frame(),
		anthropicEvent{Type: "message_stop"}.frame(),
	), nil
}

// anthropicRaw reports arguments that a message in one piece cannot hold.
func (t Turn) anthropicRaw() error {
	for i, call := range t.ToolCalls {
		if call.Raw != "" && !json.Valid([]byte(call.Raw)) {
			return fmt.Errorf("tool_calls[%d]: the Messages API has raw arguments that are no JSON in a stream only", i)
		}
	}
	return nil
}

// anthropicStart is the message before its content: one output token is counted already, as the
// real service does.
func (a answer) anthropicStart() anthropicMessage {
	usage := newAnthropicUsage(a.turn.Usage)
	usage.Output, usage.Details = 1, nil
	return anthropicMessage{
		ID:   fmt.Sprintf("msg_stub_%d", a.number),
		Type: "message", Role: "assistant", Model: a.in.model,
		Content: []any{}, Usage: usage,
	}
}

func (a answer) anthropicStopReason() string {
	switch {
	case a.turn.StopReason != "":
		return a.turn.StopReason
	case len(a.turn.ToolCalls) > 0:
		return "tool_use"
	default:
		return "end_turn"
	}
}

// anthropicPart is one content block: complete, and as it begins and grows in a stream.
type anthropicPart struct {
	complete, empty any
	deltas          []map[string]string
}

func (a answer) anthropicParts() []anthropicPart {
	var parts []anthropicPart
	if text := a.turn.Thinking; text != "" {
		const signature = "stub-signature"
		parts = append(parts, anthropicPart{
			complete: anthropicThinking{"thinking", text, signature},
			empty:    anthropicThinking{"thinking", "", ""},
			deltas: append(deltas("thinking_delta", "thinking", text),
				map[string]string{"type": "signature_delta", "signature": signature}),
		})
	}
	if text := a.turn.Text; text != "" {
		parts = append(parts, anthropicPart{
			complete: anthropicText{"text", text},
			empty:    anthropicText{"text", ""},
			deltas:   deltas("text_delta", "text", text),
		})
	}
	for i, call := range a.turn.ToolCalls {
		parts = append(parts, a.anthropicTool(i, call))
	}
	return parts
}

func (a answer) anthropicTool(i int, call ToolCall) anthropicPart {
	input := json.RawMessage(call.input())
	id := fmt.Sprintf("toolu_stub_%d_%d", a.number, i+1)
	return anthropicPart{
		complete: anthropicToolUse{"tool_use", id, call.Name, input},
		empty:    anthropicToolUse{"tool_use", id, call.Name, json.RawMessage("{}")},
		deltas:   deltas("input_json_delta", "partial_json", string(input)),
	}
}

// deltas cuts a text into the pieces of a stream.
func deltas(kind, key, text string) []map[string]string {
	var cut []map[string]string
	for _, piece := range pieces(text) {
		cut = append(cut, map[string]string{"type": kind, key: piece})
	}
	return cut
}

func newAnthropicUsage(u Usage) anthropicUsage {
	out := anthropicUsage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
	if u.Reasoning > 0 {
		out.Details = &anthropicOutputDetails{Thinking: u.Reasoning}
	}
	return out
}
