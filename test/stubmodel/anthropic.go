package stubmodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// anthropic is the Messages API, as far as agents use it.
type anthropic struct{}

// anthropicRequest is the part of a request that matters here.
type anthropicRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	System   anthropicContent  `json:"system"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []struct {
		Role    string           `json:"role"`
		Content anthropicContent `json:"content"`
	} `json:"messages"`
}

// anthropicContent is a list of blocks. In JSON a plain string is also one block of text.
type anthropicContent []anthropicBlock

type anthropicBlock struct {
	Type    string           `json:"type"`
	Text    string           `json:"text"`
	Content anthropicContent `json:"content"`  // of a tool_result
	IsError bool             `json:"is_error"` // of a tool_result
}

// UnmarshalJSON reads both forms.
func (c *anthropicContent) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		*c = anthropicContent{{Type: "text"}}
		return json.Unmarshal(raw, &(*c)[0].Text)
	}
	return json.Unmarshal(raw, (*[]anthropicBlock)(c))
}

// text joins the blocks of text.
func (c anthropicContent) text() string {
	var parts []string
	for _, block := range c {
		if block.Type == "text" {
			parts = append(parts, block.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (anthropic) read(body []byte) (inbound, error) {
	var request anthropicRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return inbound{}, fmt.Errorf("request body: %w", err)
	}
	in := inbound{
		body:        body,
		model:       request.Model,
		system:      request.System.text(),
		offersTools: len(request.Tools) > 0,
		stream:      request.Stream,
		toolError:   new(bool),
	}
	var prompt []string
	for _, message := range request.Messages {
		if message.Role != "user" {
			continue
		}
		if text := message.Content.text(); text != "" {
			prompt = append(prompt, text)
		}
		var failed bool
		in.toolResult, failed = message.Content.toolResults()
		in.toolError = &failed
	}
	in.prompt = strings.Join(prompt, "\n")
	return in, nil
}

// toolResults joins the texts of the tool results. failed is true if one of the tools failed.
func (c anthropicContent) toolResults() (text string, failed bool) {
	var parts []string
	for _, block := range c {
		if block.Type == "tool_result" {
			parts = append(parts, block.Content.text())
			failed = failed || block.IsError
		}
	}
	return strings.Join(parts, "\n"), failed
}

// anthropicError is the body of an error and the data of an error event.
type anthropicError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func (anthropic) fault(f fault) (any, frame) {
	body := anthropicError{Type: "error", RequestID: f.id}
	body.Error.Type, body.Error.Message = f.kind, f.message
	if f.kind == "" {
		body.Error.Type = cmp.Or(anthropicErrors[f.status], "api_error")
	}
	return body, frame{event: "error", data: body}
}

// anthropicErrors are the error types in the API's reference, by status.
var anthropicErrors = map[int]string{
	400: "invalid_request_error",
	401: "authentication_error",
	402: "billing_error",
	403: "permission_error",
	404: "not_found_error",
	413: "request_too_large",
	429: "rate_limit_error",
	504: "timeout_error",
	529: "overloaded_error",
}
