package model

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// messages is a client of Anthropic's Messages API.
type messages struct {
	service anthropic.MessageService
	errors  classifier
}

// newMessages uses the SDK's service, not its client: the client reads keys and addresses from the environment.
func newMessages(e Endpoint, base *url.URL, client *http.Client) *messages {
	opts := []option.RequestOption{
		option.WithBaseURL(e.requestBase(base)), option.WithHTTPClient(client), option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	}
	if e.Key != "" {
		opts = append(opts, option.WithAPIKey(e.Key))
	}
	for name, value := range e.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	return &messages{service: anthropic.NewMessageService(opts...), errors: newClassifier(base)}
}

// Reply implements [Client].
func (m *messages) Reply(ctx context.Context, r Request, text func(string)) (Reply, error) {
	stream := m.service.NewStreaming(ctx, messageParams(r))
	defer stream.Close()
	in := messageReply{positions: map[int64]int64{}}
	for stream.Next() {
		piece, err := in.add(stream.Current())
		if err != nil {
			return Reply{}, m.errors.classify(ctx, err)
		}
		text(piece)
	}
	if err := stream.Err(); err != nil {
		return Reply{}, m.errors.classify(ctx, err)
	}
	if !in.complete {
		return Reply{}, m.errors.cut(ctx)
	}
	return in.reply(), nil
}

// messageParams converts a request. The parts that repeat in each turn end with a cache mark; the service caches the
// request up to a mark. These are tools and system prompt, then the first message.
func messageParams(r Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{
		Model: r.Model, MaxTokens: int64(cmp.Or(r.MaxTokens, DefaultMaxTokens)),
		OutputConfig: anthropic.OutputConfigParam{Effort: anthropic.OutputConfigEffort(r.Effort)},
	}
	if r.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	}
	for _, t := range r.Tools {
		var schema map[string]any
		_ = json.Unmarshal(t.Parameters, &schema) // our own schemas
		delete(schema, "type")                    // always object, which the SDK writes
		tool := anthropic.ToolParam{Name: t.Name, Description: anthropic.String(t.Description), InputSchema: anthropic.ToolInputSchemaParam{ExtraFields: schema}}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	for i, m := range r.Messages {
		blocks := messageBlocks(m)
		if i == 0 && len(blocks) == 1 && blocks[0].OfText != nil {
			blocks[0].OfText.CacheControl = anthropic.NewCacheControlEphemeralParam()
		}
		if m.Role == Assistant {
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(blocks...))
		} else {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(blocks...))
		}
	}
	return p
}

func messageBlocks(m Message) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	for _, t := range m.Thinking {
		if t.Data != "" {
			blocks = append(blocks, anthropic.NewRedactedThinkingBlock(t.Data))
		} else {
			blocks = append(blocks, anthropic.NewThinkingBlock(t.Signature, t.Text))
		}
	}
	for _, r := range m.Results {
		blocks = append(blocks, anthropic.NewToolResultBlock(r.CallID, r.Text, r.Error))
	}
	if text := strings.TrimSpace(m.Text); text != "" { // the API refuses empty text
		blocks = append(blocks, anthropic.NewTextBlock(text))
	}
	for _, c := range m.Calls {
		blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, c.Args, c.Name))
	}
	return blocks
}

// messageReply is a reply while its events arrive.
type messageReply struct {
	text      strings.Builder
	message   anthropic.Message
	positions map[int64]int64 // of the blocks in message, by index: the indexes of some services have gaps
	complete  bool
}

// add applies one event and returns its text.
func (in *messageReply) add(e anthropic.MessageStreamEventUnion) (string, error) {
	switch e.Type {
	case "content_block_stop": // for this event the SDK drops malformed arguments
		return "", nil
	case "message_stop":
		in.complete = true
		return "", nil
	}
	if e.Type == "content_block_start" {
		in.positions[e.Index] = int64(len(in.message.Content))
	}
	if e.Type == "content_block_start" || e.Type == "content_block_delta" {
		position, known := in.positions[e.Index]
		if !known {
			return "", nil
		}
		e.Index = position
	}
	text := e.ContentBlock.Text + e.Delta.Text
	in.text.WriteString(text)
	return text, in.message.Accumulate(e)
}

func (in *messageReply) reply() Reply {
	// The JSON of the message, unlike its fields, has what either its start or its end says.
	var end anthropic.Message
	_ = end.UnmarshalJSON([]byte(in.message.RawJSON())) // made by the SDK; without a start or an end nothing is known
	r := Reply{Text: in.text.String(), Model: end.Model, Usage: messageUsage(end.Usage), Stop: StopEnd}
	var calls []*draft
	for _, block := range in.message.Content {
		switch block.Type {
		case "tool_use":
			calls = append(calls, &draft{id: block.ID, name: block.Name, args: block.Input})
		case "thinking", "redacted_thinking":
			r.Thinking = append(r.Thinking, Thinking{Text: block.Thinking, Signature: block.Signature, Data: block.Data})
		}
	}
	r.Calls = completeCalls(calls)
	switch end.StopReason {
	case anthropic.StopReasonRefusal:
		r.Stop = StopRefused
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		r.Stop = StopLength
	}
	return r
}

func messageUsage(u anthropic.Usage) sdk.Usage {
	details := u.OutputTokensDetails
	return sdk.Usage{
		InputTokens:      knownCount(u.JSON.InputTokens.Valid(), u.InputTokens),
		OutputTokens:     knownCount(u.JSON.OutputTokens.Valid(), u.OutputTokens),
		CacheReadTokens:  knownCount(u.JSON.CacheReadInputTokens.Valid(), u.CacheReadInputTokens),
		CacheWriteTokens: knownCount(u.JSON.CacheCreationInputTokens.Valid(), u.CacheCreationInputTokens),
		ReasoningTokens:  knownCount(details.JSON.ThinkingTokens.Valid(), details.ThinkingTokens),
	}
}
