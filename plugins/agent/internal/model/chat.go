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

// chat speaks OpenAI's Chat Completions.
type chat struct {
	service openai.ChatCompletionService
	faults  faults
	// official: OpenAI itself, whose newer models want another word for the limit than every other service knows.
	official bool
}

// newChat uses the service alone, not the SDK's client: that one reads keys and addresses from the environment.
func newChat(e Endpoint, base *url.URL, client *http.Client) *chat {
	opts := []option.RequestOption{option.WithBaseURL(e.requests(base)), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if e.Key != "" {
		opts = append(opts, option.WithAPIKey(e.Key))
	}
	for name, value := range e.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	return &chat{service: openai.NewChatCompletionService(opts...), faults: newFaults(base), official: base.Hostname() == "api.openai.com"}
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
		return Reply{}, c.faults.of(ctx, err)
	}
	if in.stop == "" {
		return Reply{}, c.faults.cut(ctx)
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

// chatMessages is a message in the API's words, which have one message for each result and no sign of an error.
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
		said := openai.ChatCompletionAssistantMessageParam{}
		if m.Text != "" || len(m.Calls) == 0 {
			said.Content.OfString = openai.String(m.Text)
		}
		for _, call := range m.Calls {
			f := openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: string(call.Args)}
			said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{ID: call.ID, Function: f},
			})
		}
		return []openai.ChatCompletionMessageParamUnion{{OfAssistant: &said}}
	default:
		return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(m.Text)}
	}
}

// chatReply is a reply while its pieces come.
type chatReply struct {
	text   strings.Builder
	calls  []*draft
	at     map[int64]*draft // by the API's index
	model  string
	stop   string
	denied bool // the model said why it does not want to
	usage  sdk.Usage
}

// add takes one piece and returns its text.
func (in *chatReply) add(chunk openai.ChatCompletionChunk) string {
	in.model = cmp.Or(in.model, chunk.Model)
	if chunk.JSON.Usage.Valid() {
		in.usage = chatUsage(chunk.Usage)
	}
	if len(chunk.Choices) == 0 {
		return ""
	}
	choice := chunk.Choices[0] // one is asked for
	in.stop = cmp.Or(choice.FinishReason, in.stop)
	in.denied = in.denied || choice.Delta.Refusal != ""
	for _, piece := range choice.Delta.ToolCalls {
		in.addCall(piece)
	}
	text := choice.Delta.Content + choice.Delta.Refusal
	in.text.WriteString(text)
	return text
}

// addCall takes a piece of a call. A new id at a known index begins another call: there are servers that count badly.
func (in *chatReply) addCall(piece openai.ChatCompletionChunkChoiceDeltaToolCall) {
	d := in.at[piece.Index]
	if d == nil || piece.ID != "" && d.id != "" && piece.ID != d.id {
		d = &draft{}
		if in.at == nil {
			in.at = map[int64]*draft{}
		}
		in.at[piece.Index] = d
		in.calls = append(in.calls, d)
	}
	d.id = cmp.Or(d.id, piece.ID)
	d.name = cmp.Or(d.name, piece.Function.Name)
	d.args.WriteString(piece.Function.Arguments)
}

func (in *chatReply) reply() Reply {
	r := Reply{Text: in.text.String(), Calls: finish(in.calls), Usage: in.usage, Model: in.model, Stop: StopEnd}
	switch {
	case in.stop == "content_filter" || in.denied:
		r.Stop = StopRefused
	case in.stop == "length":
		r.Stop = StopLength
	case len(r.Calls) > 0:
		r.Stop = StopCalls
	}
	return r
}

// chatUsage takes out of the input what a cache served or kept, since that is counted apart here.
func chatUsage(u openai.CompletionUsage) sdk.Usage {
	in, out := u.PromptTokensDetails, u.CompletionTokensDetails
	return sdk.Usage{
		InputTokens:      known(u.JSON.PromptTokens.Valid(), max(0, u.PromptTokens-in.CachedTokens-in.CacheWriteTokens)),
		OutputTokens:     known(u.JSON.CompletionTokens.Valid(), u.CompletionTokens),
		CacheReadTokens:  known(in.JSON.CachedTokens.Valid(), in.CachedTokens),
		CacheWriteTokens: known(in.JSON.CacheWriteTokens.Valid(), in.CacheWriteTokens),
		ReasoningTokens:  known(out.JSON.ReasoningTokens.Valid(), out.ReasoningTokens),
	}
}
