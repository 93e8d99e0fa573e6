package stubmodel

import (
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

// anthropicContent is a list of blocks; a plain string stands for one block of text.
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

// toolResults joins what the tools answered; failed is true when one of them did.
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
		body.Error.Type = anthropicErrorType(f.status)
	}
	return body, frame{event: "error", data: body}
}

// anthropicErrorType is the word that the API's reference gives for a status.
func anthropicErrorType(status int) string {
	switch status {
	case 400:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	default:
		return "api_error"
	}
}
