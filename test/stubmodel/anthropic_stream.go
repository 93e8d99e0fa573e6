package stubmodel

import (
	"encoding/json"
	"fmt"
)

// complete returns the answer as one JSON value.
func (anthropic) complete(a answer) ([]byte, error) {
	content := []any{}
	for _, part := range a.anthropicParts() {
		content = append(content, part.complete)
	}
	message := a.anthropicMessage(a.turn.Usage)
	message["content"], message["stop_reason"] = content, a.anthropicStopReason()
	return marshal(message) // fails for raw arguments that are not JSON
}

func (anthropic) stream(a answer) []frame {
	begun := a.turn.Usage
	begun.Output, begun.Reasoning = 1, 0 // the real service counts one output token already
	frames := []frame{
		anthropicEvent("message_start", map[string]any{"message": a.anthropicMessage(begun)}),
		anthropicEvent("ping", map[string]any{}),
	}
	for i, part := range a.anthropicParts() {
		frames = append(frames, anthropicEvent("content_block_start", map[string]any{"index": i, "content_block": part.empty}))
		for _, delta := range part.deltas {
			frames = append(frames, anthropicEvent("content_block_delta", map[string]any{"index": i, "delta": delta}))
		}
		frames = append(frames, anthropicEvent("content_block_stop", map[string]any{"index": i}))
	}
	end := map[string]any{"stop_reason": a.anthropicStopReason(), "stop_sequence": nil}
	return append(frames,
		anthropicEvent("message_delta", map[string]any{"delta": end, "usage": anthropicUsage(a.turn.Usage)}),
		anthropicEvent("message_stop", map[string]any{}),
	)
}

// anthropicEvent returns one event of a stream. fields are all its fields except the type.
func anthropicEvent(kind string, fields map[string]any) frame {
	fields["type"] = kind
	return frame{event: kind, data: fields}
}

// anthropicMessage returns the message without its content.
func (a answer) anthropicMessage(usage Usage) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("msg_stub_%d", a.number), "type": "message", "role": "assistant", "model": a.in.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": anthropicUsage(usage),
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
	complete, empty map[string]any
	deltas          []map[string]string
}

func (a answer) anthropicParts() []anthropicPart {
	var parts []anthropicPart
	if text := a.turn.Thinking; text != "" {
		const signature = "stub-signature"
		parts = append(parts, anthropicPart{
			complete: map[string]any{"type": "thinking", "thinking": text, "signature": signature},
			empty:    map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			deltas: append(deltas("thinking_delta", "thinking", text),
				map[string]string{"type": "signature_delta", "signature": signature}),
		})
	}
	if text := a.turn.Text; text != "" {
		parts = append(parts, anthropicPart{
			complete: map[string]any{"type": "text", "text": text},
			empty:    map[string]any{"type": "text", "text": ""},
			deltas:   deltas("text_delta", "text", text),
		})
	}
	for i, call := range a.turn.ToolCalls {
		input, id := call.input(), fmt.Sprintf("toolu_stub_%d_%d", a.number, i+1)
		parts = append(parts, anthropicPart{
			complete: map[string]any{"type": "tool_use", "id": id, "name": call.Name, "input": json.RawMessage(input)},
			empty:    map[string]any{"type": "tool_use", "id": id, "name": call.Name, "input": map[string]any{}},
			deltas:   deltas("input_json_delta", "partial_json", input),
		})
	}
	return parts
}

// deltas returns the deltas of a text in a stream, one for each piece.
func deltas(kind, key, text string) []map[string]string {
	var cut []map[string]string
	for _, piece := range pieces(text) {
		cut = append(cut, map[string]string{"type": kind, key: piece})
	}
	return cut
}

func anthropicUsage(u Usage) map[string]any {
	usage := map[string]any{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead, "output_tokens": u.Output,
	}
	if u.Reasoning > 0 {
		usage["output_tokens_details"] = map[string]any{"thinking_tokens": u.Reasoning}
	}
	return usage
}
