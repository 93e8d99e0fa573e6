package model

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// chat is a client of OpenAI's Chat Completions API.
type chat struct {
	service openai.ChatCompletionService
	errors  classifier
	// official: the service is OpenAI's, whose newer models need max_completion_tokens; other services know only max_tokens.
	official bool
}

// newChat uses the SDK's service, not its client: the client reads keys and addresses from the environment.
func newChat(e Endpoint, base *url.URL, client *http.Client) *chat {
	opts := []option.RequestOption{option.WithBaseURL(e.requestBase(base)), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if e.Key != "" {
		opts = append(opts, option.WithAPIKey(e.Key))
	}
	for name, value := range e.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	return &chat{service: openai.NewChatCompletionService(opts...), errors: newClassifier(base), official: base.Hostname() == "api.openai.com"}
}

// Reply implements [Client].
func (c *chat) Reply(ctx context.Context, r Request, text func(string)) (Reply, error) {
	stream := c.service.NewStreaming(ctx, c.params(r))
	defer stream.Close()
	var in chatReply
	for stream.Next() {
		text(in.add(stream.Current()))
	}
	if err := stream.Err(); err != nil {
		return Reply{}, c.errors.classify(ctx, err)
	}
	if in.stop == "" {
		return Reply{}, c.errors.cut(ctx)
	}
	return in.reply(), nil
}

func (c *chat) params(r Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{
		Model: r.Model, ReasoningEffort: shared.ReasoningEffort(r.Effort),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	switch {
	case r.MaxTokens == 0:
	case c.official:
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	default:
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	}
	if r.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, chatMessages(m)...)
	}
	for _, t := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Description: openai.String(t.Description)}
		_ = json.Unmarshal(t.Parameters, &f.Parameters) // our own schemas
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	return p
}

// chatMessages converts a message. The API has one message for each tool result and no error mark.
func chatMessages(m Message) []openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case Results:
		var each []openai.ChatCompletionMessageParamUnion
		for _, r := range m.Results {
			each = append(each, openai.ToolMessage(r.Text, r.CallID))
		}
		if m.Text != "" {
			each = append(each, openai.UserMessage(m.Text))
		}
		return each
	case Assistant:
		assistant := openai.ChatCompletionAssistantMessageParam{}
		if m.Text != "" || len(m.Calls) == 0 {
			assistant.Content.OfString = openai.String(m.Text)
		}
		for _, call := range m.Calls {
			f := openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: string(call.Args)}
			assistant.ToolCalls = append(assistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{ID: call.ID, Function: f},
			})
		}
		return []openai.ChatCompletionMessageParamUnion{{OfAssistant: &assistant}}
	default:
		return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(m.Text)}
	}
}

// chatReply is a reply while its pieces arrive.
type chatReply struct {
	text    strings.Builder
	calls   []*draft
	byIndex map[int64]*draft // by the API's index
	model   string
	stop    string
	refused bool // the model sent a refusal
	usage   sdk.Usage
}

// add applies one chunk and returns its text.
func (in *chatReply) add(chunk openai.ChatCompletionChunk) string {
	in.model = cmp.Or(in.model, chunk.Model)
	if chunk.JSON.Usage.Valid() {
		in.usage = chatUsage(chunk.Usage)
	}
	if len(chunk.Choices) == 0 {
		return ""
	}
	choice := chunk.Choices[0] // the request asks for one choice
	in.stop = cmp.Or(choice.FinishReason, in.stop)
	in.refused = in.refused || choice.Delta.Refusal != ""
	for _, piece := range choice.Delta.ToolCalls {
		in.addCall(piece)
	}
	text := choice.Delta.Content + choice.Delta.Refusal
	in.text.WriteString(text)
	return text
}

// addCall applies one piece of a call. A new id at a known index begins another call, because some servers reuse indexes.
func (in *chatReply) addCall(piece openai.ChatCompletionChunkChoiceDeltaToolCall) {
	d := in.byIndex[piece.Index]
	if d == nil || piece.ID != "" && d.id != "" && piece.ID != d.id {
		d = &draft{}
		if in.byIndex == nil {
			in.byIndex = map[int64]*draft{}
		}
		in.byIndex[piece.Index] = d
		in.calls = append(in.calls, d)
	}
	d.id = cmp.Or(d.id, piece.ID)
	d.name = cmp.Or(d.name, piece.Function.Name)
	d.args = append(d.args, piece.Function.Arguments...)
}

func (in *chatReply) reply() Reply {
	r := Reply{Text: in.text.String(), Calls: completeCalls(in.calls), Usage: in.usage, Model: in.model, Stop: StopEnd}
	switch {
	case in.stop == "content_filter" || in.refused:
		r.Stop = StopRefused
	case in.stop == "length":
		r.Stop = StopLength
	}
	return r
}

// chatUsage subtracts cached tokens from the input, because [sdk.Usage] counts them separately.
func chatUsage(u openai.CompletionUsage) sdk.Usage {
	in, out := u.PromptTokensDetails, u.CompletionTokensDetails
	return sdk.Usage{
		InputTokens:      knownCount(u.JSON.PromptTokens.Valid(), max(0, u.PromptTokens-in.CachedTokens-in.CacheWriteTokens)),
		OutputTokens:     knownCount(u.JSON.CompletionTokens.Valid(), u.CompletionTokens),
		CacheReadTokens:  knownCount(in.JSON.CachedTokens.Valid(), in.CachedTokens),
		CacheWriteTokens: knownCount(in.JSON.CacheWriteTokens.Valid(), in.CacheWriteTokens),
		ReasoningTokens:  knownCount(out.JSON.ReasoningTokens.Valid(), out.ReasoningTokens),
	}
}
