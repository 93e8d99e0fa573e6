package stubmodel

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/shared"
)

// chatSDK is github.com/openai/openai-go with Chat Completions.
type chatSDK struct {
	client   openai.Client
	messages []openai.ChatCompletionMessageParamUnion
	calls    []receivedCall
}

func newChatSDK(c connection) sdk {
	return &chatSDK{client: newOpenAI(c), messages: []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage("Be brief."), openai.UserMessage("hello"),
	}}
}

func (s *chatSDK) ask(ctx context.Context, stream bool, results ...string) (received, error) {
	for i, result := range results {
		s.messages = append(s.messages, openai.ToolMessage(result, s.calls[i].ID))
	}
	params := openai.ChatCompletionNewParams{
		Model: "test-model", Messages: s.messages,
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "Write"}),
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "Bash"}),
		},
	}
	send := s.complete
	if stream {
		send = s.stream
	}
	completion, thinking, err := send(ctx, params)
	if err != nil {
		return received{}, err
	}
	h := chatReceived(completion, thinking)
	s.messages = append(s.messages, completion.Choices[0].Message.ToParam())
	s.calls = h.Calls
	return h, nil
}

func (s *chatSDK) complete(ctx context.Context, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, string, error) {
	completion, err := s.client.Chat.Completions.New(ctx, params)
	if err != nil {
		return nil, "", err
	}
	return completion, reasoning(completion.Choices[0].Message.JSON.ExtraFields), nil
}

func (s *chatSDK) stream(ctx context.Context, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, string, error) {
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := s.client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var complete openai.ChatCompletionAccumulator
	var thinking string
	for stream.Next() {
		chunk := stream.Current()
		if !complete.AddChunk(chunk) {
			return nil, "", errors.New("a chunk does not fit to those before")
		}
		if len(chunk.Choices) > 0 {
			thinking += reasoning(chunk.Choices[0].Delta.JSON.ExtraFields)
		}
		complete.Usage = chunk.Usage // the accumulator forgets some of it; the last chunk has all
	}
	if err := stream.Err(); err != nil {
		return nil, "", err
	}
	return &complete.ChatCompletion, thinking, nil
}

// reasoning reads the field that the library has no name for.
func reasoning(fields map[string]respjson.Field) string {
	var text string
	if raw := fields["reasoning_content"].Raw(); raw != "" {
		if err := json.Unmarshal([]byte(raw), &text); err != nil {
			return err.Error()
		}
	}
	return text
}

func chatReceived(completion *openai.ChatCompletion, thinking string) received {
	choice, usage := completion.Choices[0], completion.Usage
	h := received{Thinking: thinking, Text: choice.Message.Content, End: choice.FinishReason, Usage: Usage{
		Output: int(usage.CompletionTokens), Reasoning: int(usage.CompletionTokensDetails.ReasoningTokens),
		CacheRead: int(usage.PromptTokensDetails.CachedTokens), CacheWrite: int(usage.PromptTokensDetails.CacheWriteTokens),
	}}
	h.Usage.Input = int(usage.PromptTokens) - h.Usage.CacheRead - h.Usage.CacheWrite
	for _, call := range choice.Message.ToolCalls {
		h.Calls = append(h.Calls, receivedCall{ID: call.ID, Name: call.Function.Name, Input: call.Function.Arguments})
	}
	return h
}

func (*chatSDK) refusal(err error) (status int) { return openAIRefusal(err) }
