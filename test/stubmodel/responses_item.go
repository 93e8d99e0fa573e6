package stubmodel

import "fmt"

// responsesItem is one item of the output: its beginning, its growth and its final form.
type responsesItem struct {
	id          string
	begun, done map[string]any
	steps       []responsesStep
}

// responsesStep is an event about an item, without the fields that every such event has.
type responsesStep struct {
	kind   string
	fields map[string]any
}

func (a answer) responsesItems() []responsesItem {
	var items []responsesItem
	if a.turn.Thinking != "" {
		items = append(items, a.responsesReasoning())
	}
	if a.turn.Text != "" {
		items = append(items, a.responsesMessage())
	}
	for i, call := range a.turn.ToolCalls {
		items = append(items, a.responsesToolCall(i+1, call))
	}
	return items
}

func (a answer) responsesReasoning() responsesItem {
	id := fmt.Sprintf("rs_stub_%d", a.number)
	item := func(summary ...any) map[string]any {
		return map[string]any{"type": "reasoning", "id": id, "summary": append([]any{}, summary...)}
	}
	part := func(text string) map[string]any { return map[string]any{"type": "summary_text", "text": text} }
	text := a.turn.Thinking
	return responsesItem{
		id: id, begun: item(), done: item(part(text)),
		steps: around("response.reasoning_summary_part", part,
			growth("response.reasoning_summary_text", "text", text), text, "summary_index"),
	}
}

func (a answer) responsesMessage() responsesItem {
	id := fmt.Sprintf("msg_stub_%d", a.number)
	item := func(status string, content ...any) map[string]any {
		return map[string]any{
			"type": "message", "id": id, "role": "assistant", "status": status, "content": append([]any{}, content...),
		}
	}
	part := func(text string) map[string]any {
		return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
	}
	text := a.turn.Text
	steps := growth("response.output_text", "text", text)
	for _, step := range steps {
		step.fields["logprobs"] = []any{}
	}
	return responsesItem{
		id: id, begun: item("in_progress"), done: item("completed", part(text)),
		steps: around("response.content_part", part, steps, text, "content_index"),
	}
}

// responsesToolCall returns the item of the call with the number, from 1. The call is of a function with JSON
// arguments, or of a custom tool with free text.
func (a answer) responsesToolCall(number int, call ToolCall) responsesItem {
	kind, prefix, key, event := "function_call", "fc", "arguments", "response.function_call_arguments"
	if call.Custom {
		kind, prefix, key, event = "custom_tool_call", "ctc", "input", "response.custom_tool_call_input"
	}
	id := fmt.Sprintf("%s_stub_%d_%d", prefix, a.number, number)
	input := call.input()
	item := func(status, input string) map[string]any {
		return map[string]any{
			"type": kind, "id": id, "call_id": fmt.Sprintf("call_stub_%d_%d", a.number, number),
			"name": call.Name, "status": status, key: input,
		}
	}
	steps := growth(event, key, input)
	if !call.Custom {
		steps[len(steps)-1].fields["name"] = call.Name
	}
	return responsesItem{
		id: id, begun: item("in_progress", ""), done: item("completed", input),
		steps: steps,
	}
}

// growth returns the events of a text: its pieces, then the whole text under the key.
func growth(event, key, text string) []responsesStep {
	var steps []responsesStep
	for _, piece := range pieces(text) {
		steps = append(steps, responsesStep{event + ".delta", map[string]any{"delta": piece}})
	}
	return append(steps, responsesStep{event + ".done", map[string]any{key: text}})
}

// around returns the steps between the events that begin and end the only part of an item. index is the key that
// numbers the parts.
func around(event string, part func(text string) map[string]any, steps []responsesStep, text, index string) []responsesStep {
	framed := append([]responsesStep{{event + ".added", map[string]any{"part": part("")}}}, steps...)
	framed = append(framed, responsesStep{event + ".done", map[string]any{"part": part(text)}})
	for _, step := range framed {
		step.fields[index] = 0
	}
	return framed
}
