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
	in := messageReply{blocks: map[int64]*block{}}
	for stream.Next() {
		text(in.add(stream.Current()))
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
	text     strings.Builder
	blocks   map[int64]*block
	calls    []*draft
	thinking []*Thinking
	model    string
	stop     anthropic.StopReason
	complete bool
	usage    sdk.Usage
}

// block is the part of the reply that a content block extends. Both fields are nil for ignored kinds of blocks.
type block struct {
	call     *draft
	thinking *Thinking
}

// add applies one event and returns its text.
func (in *messageReply) add(e anthropic.MessageStreamEventUnion) string {
	switch e.Type {
	case "message_start":
		in.model = e.Message.Model
		in.usage = startUsage(e.Message.Usage)
	case "content_block_start":
		return in.startBlock(e.Index, e.ContentBlock)
	case "content_block_delta":
		return in.extendBlock(e.Index, e.Delta)
	case "message_delta":
		in.stop = cmp.Or(e.Delta.StopReason, in.stop)
		in.usage = endUsage(in.usage, e.Usage)
	case "message_stop":
		in.complete = true
	}
	return ""
}

func (in *messageReply) startBlock(index int64, c anthropic.ContentBlockStartEventContentBlockUnion) string {
	b := &block{}
	in.blocks[index] = b
	switch c.Type {
	case "tool_use":
		b.call = &draft{id: c.ID, name: c.Name}
		in.calls = append(in.calls, b.call)
	case "thinking", "redacted_thinking":
		b.thinking = &Thinking{Text: c.Thinking, Signature: c.Signature, Data: c.Data}
		in.thinking = append(in.thinking, b.thinking)
	}
	in.text.WriteString(c.Text)
	return c.Text
}

func (in *messageReply) extendBlock(index int64, d anthropic.MessageStreamEventUnionDelta) string {
	b := in.blocks[index]
	switch {
	case b == nil:
		return ""
	case b.call != nil:
		b.call.args = append(b.call.args, d.PartialJSON...)
	case b.thinking != nil:
		b.thinking.Text += d.Thinking
		b.thinking.Signature += d.Signature
	}
	in.text.WriteString(d.Text)
	return d.Text
}

func (in *messageReply) reply() Reply {
	r := Reply{Text: in.text.String(), Calls: completeCalls(in.calls), Usage: in.usage, Model: in.model, Stop: StopEnd}
	for _, t := range in.thinking {
		r.Thinking = append(r.Thinking, *t)
	}
	switch in.stop {
	case anthropic.StopReasonRefusal:
		r.Stop = StopRefused
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		r.Stop = StopLength
	}
	return r
}

func startUsage(u anthropic.Usage) sdk.Usage {
	return sdk.Usage{
		InputTokens:      knownCount(u.JSON.InputTokens.Valid(), u.InputTokens),
		OutputTokens:     knownCount(u.JSON.OutputTokens.Valid(), u.OutputTokens),
		CacheReadTokens:  knownCount(u.JSON.CacheReadInputTokens.Valid(), u.CacheReadInputTokens),
		CacheWriteTokens: knownCount(u.JSON.CacheCreationInputTokens.Valid(), u.CacheCreationInputTokens),
	}
}

// endUsage returns the usage with the totals at the end of a message; totals that the event lacks stay as they were.
func endUsage(u sdk.Usage, end anthropic.MessageDeltaUsage) sdk.Usage {
	u.InputTokens = cmp.Or(knownCount(end.JSON.InputTokens.Valid(), end.InputTokens), u.InputTokens)
	u.OutputTokens = cmp.Or(knownCount(end.JSON.OutputTokens.Valid(), end.OutputTokens), u.OutputTokens)
	u.CacheReadTokens = cmp.Or(knownCount(end.JSON.CacheReadInputTokens.Valid(), end.CacheReadInputTokens), u.CacheReadTokens)
	u.CacheWriteTokens = cmp.Or(knownCount(end.JSON.CacheCreationInputTokens.Valid(), end.CacheCreationInputTokens), u.CacheWriteTokens)
	details := end.OutputTokensDetails
	u.ReasoningTokens = knownCount(details.JSON.ThinkingTokens.Valid(), details.ThinkingTokens)
	return u
}
