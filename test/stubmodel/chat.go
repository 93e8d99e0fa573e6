package stubmodel

import (
	"encoding/json"
	"fmt"
	"strings"
)

// chat is OpenAI's Chat Completions API, as far as agents use it. Most other services imitate this API. As in those
// services, the thoughts of a model are in reasoning_content.
type chat struct{}

// chatRequest is the part of a request that matters here.
type chatRequest struct {
	Model         string            `json:"model"`
	Stream        bool              `json:"stream"`
	StreamOptions chatStreamOptions `json:"stream_options"`
	Tools         []json.RawMessage `json:"tools"`
	Messages      []chatMessage     `json:"messages"`
}

type chatStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string        `json:"role"`
	Content openAIContent `json:"content"`
}

func (chat) read(body []byte) (inbound, error) {
	var request chatRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return inbound{}, fmt.Errorf("request body: %w", err)
	}
	in := inbound{
		body: body, model: request.Model,
		stream: request.Stream, streamUsage: request.StreamOptions.IncludeUsage,
		offersTools: len(request.Tools) > 0,
	}
	var system, prompt, results []string
	for _, message := range request.Messages {
		text := message.Content.text()
		switch message.Role {
		case "assistant":
			results = nil
		case "tool":
			results = append(results, text)
		case "user":
			prompt = appendText(prompt, text)
		case "system", "developer":
			system = appendText(system, text)
		}
	}
	in.system, in.prompt = strings.Join(system, "\n"), strings.Join(prompt, "\n")
	in.toolResult = strings.Join(results, "\n")
	return in, nil
}

// fault returns the same error for the body and for the event.
func (chat) fault(f fault) (body any, last frame) {
	words := newOpenAIError(f)
	return words, frame{data: words}
}
