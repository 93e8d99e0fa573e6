package model

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// chat is a client of OpenAI's Chat Completions API (https://platform.openai.com/docs/api-reference/chat).
type chat struct {
	service
	// official is true for OpenAI's own service, whose newer models need max_completion_tokens. Other services know
	// only max_tokens.
	official bool
}

func newChat(e Endpoint, base *url.URL, client *http.Client) *chat {
	return &chat{service: newService(e, base, client, "chat/completions"), official: base.Hostname() == "api.openai.com"}
}

// Reply implements [Client].
func (c *chat) Reply(ctx context.Context, r Request, text func(string)) (Reply, error) {
	var in chatReply
	if err := streamEvents(ctx, c.service, c.request(r), func(chunk chatChunk) { text(in.add(chunk)) }); err != nil {
		return Reply{}, err
	}
	if in.stop == "" {
		return Reply{}, c.errors.cut(ctx)
	}
	return in.reply(), nil
}

func (c *chat) request(r Request) object {
	var messages, tools []object
	if r.System != "" {
		messages = append(messages, object{"role": "system", "content": r.System})
	}
	for _, m := range r.Messages {
		messages = append(messages, chatMessages(m)...)
	}
	for _, t := range r.Tools {
		tools = append(tools, object{"type": "function", "function": object{"name": t.Name, "description": t.Description, "parameters": t.Parameters}})
	}
	limit := "max_tokens"
	if c.official {
		limit = "max_completion_tokens"
	}
	return withoutEmpty(object{
		"model": r.Model, "messages": messages, "tools": tools, "reasoning_effort": r.Effort, limit: r.MaxTokens,
		"stream": true, "stream_options": object{"include_usage": true},
	})
}

// chatMessages converts a message. The API has one message for each tool result and no error mark.
func chatMessages(m Message) []object {
	var each []object
	for _, r := range m.Results {
		each = append(each, object{"role": "tool", "tool_call_id": r.CallID, "content": r.Text})
	}
	if m.Role != Assistant {
		if m.Text != "" || m.Role == User {
			each = append(each, object{"role": "user", "content": m.Text})
		}
		return each
	}
	var calls []object
	for _, call := range m.Calls {
		calls = append(calls, object{"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": string(call.Args)}})
	}
	assistant := withoutEmpty(object{"role": "assistant", "content": m.Text, "tool_calls": calls})
	if len(assistant) == 1 {
		assistant["content"] = ""
	}
	return append(each, assistant)
}

// chatChunk is one event of a reply.
type chatChunk struct {
	Model   string
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			Content, Refusal string
			ToolCalls        []chatCall `json:"tool_calls"`
		}
	}
	Usage *chatUsage
}

// chatCall is one piece of a call.
type chatCall struct {
	Index    int64
	ID       string
	Function struct{ Name, Arguments string }
}

// chatUsage has nil for counts that the service does not report.
type chatUsage struct {
	PromptTokens        *int64 `json:"prompt_tokens"` // including cached tokens
	CompletionTokens    *int64 `json:"completion_tokens"`
	PromptTokensDetails struct {
		CachedTokens     *int64 `json:"cached_tokens"`
		CacheWriteTokens *int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
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
func (in *chatReply) add(chunk chatChunk) string {
	in.model = cmp.Or(in.model, chunk.Model)
	if chunk.Usage != nil {
		in.usage = chunk.Usage.counts()
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
func (in *chatReply) addCall(piece chatCall) {
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

// counts subtracts cached tokens from the input, because [sdk.Usage] counts them separately.
func (u *chatUsage) counts() sdk.Usage {
	in := u.PromptTokensDetails
	counts := sdk.Usage{
		OutputTokens: u.CompletionTokens, CacheReadTokens: in.CachedTokens, CacheWriteTokens: in.CacheWriteTokens,
		ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens,
	}
	if u.PromptTokens != nil {
		cached := cmp.Or(cliagent.AddCounts(in.CachedTokens, in.CacheWriteTokens), new(int64))
		counts.InputTokens = new(max(0, *u.PromptTokens-*cached))
	}
	return counts
}
