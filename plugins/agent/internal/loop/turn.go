package loop

import (
	"bytes"
	"cmp"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// addReply adds a reply to the conversation, as a new turn.
func (l *loop) addReply(reply model.Reply) {
	l.conversation.Turn++
	t := turn{N: l.conversation.Turn, Reply: reply.Message(), Results: make([]callRecord, len(reply.Calls))}
	for i, call := range reply.Calls {
		t.Results[i].HasSecret = !bytes.Equal(l.Redactor.JSON(call.Args), call.Args)
	}
	if reply.Stop == model.StopLength {
		t.Note = "Your reply was cut off because it reached its token limit. Do less in one reply."
	}
	if len(reply.Calls) > 0 {
		l.conversation.SilentReplies = 0
	} else {
		l.conversation.SilentReplies++
		t.Note = strings.TrimSpace(t.Note + " " + callOrFinish)
	}
	if t.Reply.Text == "" && len(reply.Calls) == 0 {
		t.Reply.Text = "(nothing)" // services refuse an empty message
	}
	l.conversation.Turns = append(l.conversation.Turns, t)
	l.conversation.trim()
	l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamRaw, Text: replyLine(t.N, reply)})
	l.progress("", "")
}

// countUsage adds the usage of a reply and reports the sum to the kernel.
func (l *loop) countUsage(r model.Request, reply model.Reply) {
	l.conversation.HasReply = true
	l.conversation.Usage = model.Add(l.conversation.Usage, reply.Usage)
	if reply.Usage.InputTokens == nil && reply.Usage.OutputTokens == nil {
		l.conversation.GuessedTokens += estimateTokens(r) + int64(len(reply.Text)/bytesPerToken)
	}
	l.conversation.Model = cmp.Or(reply.Model, l.conversation.Model)
	l.Exchange.Usage(*l.usage())
}

// usage returns the usage of the attempt so far, with its cost if prices are known; nil before the first reply.
func (l *loop) usage() *sdk.Usage {
	if !l.conversation.HasReply {
		return nil
	}
	u := l.conversation.Usage
	if l.Price != nil {
		u.CostUSD = l.Price(u)
	}
	return &u
}

// baseRequest returns the next request without the model, the effort and the limit of the reply.
func (l *loop) baseRequest() model.Request {
	return model.Request{System: l.systemPrompt(l.limit), Messages: l.conversation.messages(l.Request.Prompt), Tools: l.tools}
}
