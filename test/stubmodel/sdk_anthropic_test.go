package stubmodel

import (
	"context"
	"errors"

	claude "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// anthropicSDK is github.com/anthropics/anthropic-sdk-go.
type anthropicSDK struct {
	client   claude.Client
	messages []claude.MessageParam
	calls    []receivedCall
}

func newAnthropicSDK(c connection) sdk {
	return &anthropicSDK{
		client: claude.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("dummy"),
			option.WithBaseURL(c.base), option.WithHTTPClient(c.http), option.WithMaxRetries(0)),
		messages: []claude.MessageParam{claude.NewUserMessage(claude.NewTextBlock("hello"))},
	}
}

func (s *anthropicSDK) ask(ctx context.Context, stream bool, results ...string) (received, error) {
	if results != nil {
		var blocks []claude.ContentBlockParamUnion
		for i, result := range results {
			blocks = append(blocks, claude.NewToolResultBlock(s.calls[i].ID, result, false))
		}
		s.messages = append(s.messages, claude.NewUserMessage(blocks...))
	}
	params := claude.MessageNewParams{
		Model: "test-model", MaxTokens: 1000, Messages: s.messages,
		System: []claude.TextBlockParam{{Text: "Be brief."}},
		Tools: []claude.ToolUnionParam{
			claude.ToolUnionParamOfTool(claude.ToolInputSchemaParam{}, "Write"),
			claude.ToolUnionParamOfTool(claude.ToolInputSchemaParam{}, "Bash"),
		},
	}
	send := s.complete
	if stream {
		send = s.stream
	}
	message, err := send(ctx, params)
	if err != nil {
		return received{}, err
	}
	s.messages = append(s.messages, message.ToParam())
	h := anthropicReceived(message)
	s.calls = h.Calls
	return h, nil
}

func (s *anthropicSDK) complete(ctx context.Context, params claude.MessageNewParams) (*claude.Message, error) {
	return s.client.Messages.New(ctx, params)
}

func (s *anthropicSDK) stream(ctx context.Context, params claude.MessageNewParams) (*claude.Message, error) {
	stream := s.client.Messages.NewStreaming(ctx, params)
	defer stream.Close()
	var message claude.Message
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			return nil, err
		}
	}
	return &message, stream.Err()
}

func anthropicReceived(message *claude.Message) received {
	usage := message.Usage
	h := received{End: string(message.StopReason), Usage: Usage{
		Input: int(usage.InputTokens), Output: int(usage.OutputTokens),
		CacheRead: int(usage.CacheReadInputTokens), CacheWrite: int(usage.CacheCreationInputTokens),
		Reasoning: int(usage.OutputTokensDetails.ThinkingTokens),
	}}
	for _, block := range message.Content {
		h.Thinking += block.Thinking
		h.Text += block.Text
		if block.Type == "tool_use" {
			h.Calls = append(h.Calls, receivedCall{ID: block.ID, Name: block.Name, Input: string(block.Input)})
		}
	}
	return h
}

func (*anthropicSDK) refusal(err error) (status int) {
	var refused *claude.Error
	if !errors.As(err, &refused) {
		return 0
	}
	return refused.StatusCode
}
