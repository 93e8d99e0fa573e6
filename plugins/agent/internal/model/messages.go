package model

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// messages is a client of Anthropic's Messages API (https://docs.anthropic.com/en/api/messages).
type messages struct{ service }

func newMessages(e Endpoint, base *url.URL, client *http.Client) *messages {
	return &messages{newService(e, base, client, "v1/messages")}
}

// Reply implements [Client].
func (m *messages) Reply(ctx context.Context, r Request, text func(string)) (Reply, error) {
	in := messageReply{blocks: map[int64]*block{}}
	if err := streamEvents(ctx, m.service, messageRequest(r), func(e messageEvent) { text(in.add(e)) }); err != nil {
		return Reply{}, err
	}
	if !in.complete {
		return Reply{}, m.errors.cut(ctx)
	}
	return in.reply(), nil
}

// cacheMark ends a part that repeats in each turn; the service caches the request up to a mark.
var cacheMark = object{"type": "ephemeral"}

// messageRoles are the API's roles: the API has no role for results.
var messageRoles = map[Role]Role{User: User, Assistant: Assistant, Results: User}

// messageRequest converts a request. Its marked parts are tools and system prompt, then the first message.
func messageRequest(r Request) object {
	var tools, messages, system []object
	var config object
	if r.Effort != "" {
		config = object{"effort": r.Effort}
	}
	if r.System != "" {
		system = []object{{"type": "text", "text": r.System, "cache_control": cacheMark}}
	}
	for _, t := range r.Tools {
		tools = append(tools, object{"name": t.Name, "description": t.Description, "input_schema": t.Parameters})
	}
	for i, m := range r.Messages {
		blocks := messageBlocks(m)
		if i == 0 && len(blocks) == 1 && blocks[0]["type"] == "text" {
			blocks[0]["cache_control"] = cacheMark
		}
		messages = append(messages, object{"role": messageRoles[m.Role], "content": blocks})
	}
	return withoutEmpty(object{
		"model": r.Model, "max_tokens": cmp.Or(r.MaxTokens, DefaultMaxTokens), "messages": messages, "tools": tools, "system": system, "stream": true,
		"output_config": config,
	})
}

func messageBlocks(m Message) []object {
	blocks := []object{}
	for _, t := range m.Thinking {
		if t.Data != "" {
			blocks = append(blocks, object{"type": "redacted_thinking", "data": t.Data})
		} else {
			blocks = append(blocks, object{"type": "thinking", "thinking": t.Text, "signature": t.Signature})
		}
	}
	for _, r := range m.Results {
		text := []object{{"type": "text", "text": r.Text}}
		blocks = append(blocks, object{"type": "tool_result", "tool_use_id": r.CallID, "is_error": r.Error, "content": text})
	}
	if text := strings.TrimSpace(m.Text); text != "" { // the API refuses empty text
		blocks = append(blocks, object{"type": "text", "text": text})
	}
	for _, c := range m.Calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Args})
	}
	return blocks
}

// messageEvent is one event of a reply.
type messageEvent struct {
	Type    string
	Index   int64
	Message struct {
		Model string
		Usage messageUsage
	}
	ContentBlock contentBlock `json:"content_block"`
	Delta        struct {
		contentBlock
		StopReason  string `json:"stop_reason"`
		PartialJSON string `json:"partial_json"`
	}
	Usage messageUsage
}

// contentBlock is a block of a reply, or a piece of one.
type contentBlock struct{ Type, ID, Name, Text, Thinking, Signature, Data string }

// messageUsage has nil for counts that an event does not report.
type messageUsage struct {
	InputTokens              *int64 `json:"input_tokens"`
	OutputTokens             *int64 `json:"output_tokens"`
	CacheReadInputTokens     *int64 `json:"cache_read_input_tokens"`
	CacheCreationInputTokens *int64 `json:"cache_creation_input_tokens"`
	OutputTokensDetails      struct {
		ThinkingTokens *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// messageReply is a reply while its events arrive.
type messageReply struct {
	text     strings.Builder
	blocks   map[int64]*block
	calls    []*draft
	thinking []*Thinking
	model    string
	stop     string
	complete bool
	usage    sdk.Usage
}

// block is the part of the reply that a content block extends. Both fields are nil for text and for ignored blocks.
type block struct {
	call     *draft
	thinking *Thinking
}

// add applies one event and returns its text.
func (in *messageReply) add(e messageEvent) string {
	switch e.Type {
	case "message_start":
		in.model = e.Message.Model
		in.count(e.Message.Usage)
	case "content_block_start":
		return in.startBlock(e.Index, e.ContentBlock)
	case "content_block_delta":
		return in.extendBlock(e.Index, e.Delta.contentBlock, e.Delta.PartialJSON)
	case "message_delta":
		in.stop = cmp.Or(e.Delta.StopReason, in.stop)
		in.count(e.Usage)
	case "message_stop":
		in.complete = true
	}
	return ""
}

func (in *messageReply) startBlock(index int64, c contentBlock) string {
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

func (in *messageReply) extendBlock(index int64, d contentBlock, arguments string) string {
	b := in.blocks[index]
	switch {
	case b == nil:
		return ""
	case b.call != nil:
		b.call.args = append(b.call.args, arguments...)
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
	case "refusal":
		r.Stop = StopRefused
	case "max_tokens", "model_context_window_exceeded":
		r.Stop = StopLength
	}
	return r
}

// count applies the counts of an event, which are totals. A count that the event lacks stays.
func (in *messageReply) count(u messageUsage) {
	in.usage = sdk.Usage{
		InputTokens: cmp.Or(u.InputTokens, in.usage.InputTokens), OutputTokens: cmp.Or(u.OutputTokens, in.usage.OutputTokens),
		CacheReadTokens:  cmp.Or(u.CacheReadInputTokens, in.usage.CacheReadTokens),
		CacheWriteTokens: cmp.Or(u.CacheCreationInputTokens, in.usage.CacheWriteTokens),
		ReasoningTokens:  cmp.Or(u.OutputTokensDetails.ThinkingTokens, in.usage.ReasoningTokens),
	}
}
