package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	l.recordReply(reply)
	l.progress("", "")
}

// recordReply writes a line about the turn and its usage to the raw stream.
func (l *loop) recordReply(reply model.Reply) {
	var calls []string
	for _, c := range reply.Calls {
		calls = append(calls, c.Name)
	}
	line, err := json.Marshal(struct {
		Type  string     `json:"type"`
		Turn  int        `json:"turn"`
		Stop  model.Stop `json:"stop"`
		Calls []string   `json:"calls,omitempty"`
		Usage sdk.Usage  `json:"usage"`
	}{"reply", l.conversation.Turn, reply.Stop, calls, reply.Usage})
	if err == nil {
		l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamRaw, Text: string(line) + "\n"})
	}
}

// remind warns the model, at the end of a turn, that few turns are left.
func (l *loop) remind(t *turn) {
	var note string
	switch l.limit - t.N {
	case 1:
		note = "You have one turn left: call finish now."
	case 2, 3:
		note = fmt.Sprintf("You have %d turns left.", l.limit-t.N)
	}
	t.Note = strings.TrimSpace(t.Note + " " + note)
}
