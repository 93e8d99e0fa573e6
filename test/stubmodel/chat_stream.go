package stubmodel

import (
	"cmp"
	"fmt"
)

// chatDone ends a stream after its last chunk.
const chatDone = "[DONE]"

func (chat) stream(a answer) []frame {
	deltas := []map[string]any{{"role": "assistant", "content": ""}}
	for _, piece := range pieces(a.turn.Thinking) {
		deltas = append(deltas, map[string]any{"reasoning_content": piece})
	}
	for _, piece := range pieces(a.turn.Text) {
		deltas = append(deltas, map[string]any{"content": piece})
	}
	for i, call := range a.turn.ToolCalls {
		deltas = append(deltas, a.chatToolDeltas(i, call)...)
	}
	var frames []frame
	for _, delta := range deltas {
		frames = append(frames, a.chatChunk(delta, nil))
	}
	frames = append(frames, a.chatChunk(map[string]any{}, a.chatFinishReason()))
	if a.in.streamUsage {
		last := a.chatObject("chat.completion.chunk")
		last["usage"] = chatUsage(a.turn.Usage)
		frames = append(frames, frame{data: last})
	}
	return append(frames, frame{plain: chatDone})
}

// chatToolDeltas returns the deltas of a call. The first has its id and name, the others have only parts of its input.
func (a answer) chatToolDeltas(i int, call ToolCall) []map[string]any {
	first := a.chatToolCall(i, call, "")
	first["index"] = i
	deltas := []map[string]any{{"tool_calls": []any{first}}}
	for _, piece := range pieces(call.input()) {
		more := map[string]any{"index": i, "function": map[string]any{"arguments": piece}}
		deltas = append(deltas, map[string]any{"tool_calls": []any{more}})
	}
	return deltas
}

func (a answer) chatToolCall(i int, call ToolCall, input string) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("call_stub_%d_%d", a.number, i+1), "type": "function",
		"function": map[string]any{"name": call.Name, "arguments": input},
	}
}

func (a answer) chatFinishReason() string {
	if len(a.turn.ToolCalls) > 0 {
		return cmp.Or(a.turn.StopReason, "tool_calls")
	}
	return cmp.Or(a.turn.StopReason, "stop")
}

// chatChunk returns one event of the stream. If the client requested the usage, every chunk has that key.
func (a answer) chatChunk(delta map[string]any, finishReason any) frame {
	chunk := a.chatObject("chat.completion.chunk", map[string]any{
		"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finishReason,
	})
	if a.in.streamUsage {
		chunk["usage"] = nil
	}
	return frame{data: chunk}
}

func (a answer) chatObject(kind string, choices ...any) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("chatcmpl-stub-%d", a.number), "object": kind, "created": createdAt,
		"model": a.in.model, "choices": append([]any{}, choices...),
	}
}

func chatUsage(u Usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.allInput(), "completion_tokens": u.Output, "total_tokens": u.allInput() + u.Output,
		"prompt_tokens_details": map[string]any{
			"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite,
		},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
}
