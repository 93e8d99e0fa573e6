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
	l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamRaw, Text: replyLine(t.N, reply)})
	l.progress("", "")
}

// replyLine returns a line of JSON about a turn and its usage.
func replyLine(turn int, reply model.Reply) string {
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
	}{"reply", turn, reply.Stop, calls, reply.Usage})
	if err != nil { // texts and numbers can always be encoded
		panic(err)
	}
	return string(line) + "\n"
}

// remind warns the model, at the end of a turn, that few turns are left.
func (t *turn) remind(left int) {
	var note string
	switch left {
	case 1:
		note = "You have one turn left: call finish now."
	case 2, 3:
		note = fmt.Sprintf("You have %d turns left.", left)
	}
	t.Note = strings.TrimSpace(t.Note + " " + note)
}
