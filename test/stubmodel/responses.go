package stubmodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// responses is OpenAI's Responses API, as far as agents use it.
type responses struct{}

// responsesRequest is the part of a request that matters here.
type responsesRequest struct {
	Model        string            `json:"model"`
	Stream       bool              `json:"stream"`
	Instructions string            `json:"instructions"`
	Tools        []json.RawMessage `json:"tools"`
	Input        responsesInput    `json:"input"`
}

// responsesInput is the conversation. In JSON a plain string is one message of the user.
type responsesInput []responsesInputItem

type responsesInputItem struct {
	Type    string        `json:"type"`
	Role    string        `json:"role"` // of a message
	Content openAIContent `json:"content"`
	Output  openAIContent `json:"output"` // of a tool's result
}

// UnmarshalJSON reads both forms.
func (in *responsesInput) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		*in = responsesInput{{Role: "user"}}
		return json.Unmarshal(raw, &(*in)[0].Content)
	}
	return json.Unmarshal(raw, (*[]responsesInputItem)(in))
}

func (responses) read(body []byte) (inbound, error) {
	var request responsesRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return inbound{}, fmt.Errorf("request body: %w", err)
	}
	in := inbound{
		body: body, model: request.Model, stream: request.Stream,
		offersTools: len(request.Tools) > 0,
	}
	var system, prompt, results []string
	system = appendText(system, request.Instructions)
	for _, item := range request.Input {
		switch {
		case item.Type == "additional_tools": // how agents offer tools to the newest models
			in.offersTools = true
		case item.byModel():
			results = nil
		case item.isToolResult():
			results = append(results, item.Output.text())
		case item.Role == "user":
			prompt = appendText(prompt, item.Content.text())
		case item.Role == "system" || item.Role == "developer":
			system = appendText(system, item.Content.text())
		}
	}
	in.system, in.prompt = strings.Join(system, "\n"), strings.Join(prompt, "\n")
	in.toolResult = strings.Join(results, "\n")
	return in, nil
}

// byModel reports whether the item is from an earlier answer of the model.
func (i responsesInputItem) byModel() bool {
	return i.Role == "assistant" || i.Type == "reasoning" || strings.HasSuffix(i.Type, "_call")
}

func (i responsesInputItem) isToolResult() bool { return strings.HasSuffix(i.Type, "_call_output") }

// fault returns the error as a body and as an event with the failed response, because a stream always ends with its
// response.
func (responses) fault(f fault) (body any, last frame) {
	failed := responsesObject(f.broken, "failed", []any{})
	kind, code := openAIWords(f)
	failed["error"] = map[string]any{"code": cmp.Or(code, kind), "message": f.message}
	return newOpenAIError(f), responsesEvent("response.failed", f.sent, map[string]any{"response": failed})
}

// responsesEvent returns one event of a stream. number counts from 0.
func responsesEvent(kind string, number int, fields map[string]any) frame {
	fields["type"], fields["sequence_number"] = kind, number
	return frame{event: kind, data: fields}
}

// responsesObject returns the response itself, with the settings that the service reports back.
func responsesObject(a answer, status string, output []any) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("resp_stub_%d", a.number), "object": "response", "created_at": createdAt,
		"model": a.in.model, "status": status, "error": nil, "incomplete_details": nil,
		"output": output, "usage": nil,
		"instructions": nil, "metadata": map[string]any{}, "parallel_tool_calls": true,
		"temperature": 1, "top_p": 1, "tool_choice": "auto", "tools": []any{},
	}
}
