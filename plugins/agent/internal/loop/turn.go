package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// maxCalls is how many calls of one reply are made.
const maxCalls = 16

// take puts a reply into the talk, as a new turn.
func (l *loop) take(reply model.Reply) {
	l.talk.Turn++
	t := turn{N: l.talk.Turn, Reply: reply.Message(), Made: make([]made, len(reply.Calls))}
	for i, call := range reply.Calls {
		t.Made[i].Tainted = !bytes.Equal(l.Redactor.JSON(call.Args), call.Args)
	}
	if reply.Stop == model.StopLength {
		t.Note = "Your reply was cut off, since it reached its limit of tokens. Do less in one reply."
	}
	if len(reply.Calls) > 0 {
		l.talk.Silent = 0
	} else {
		l.talk.Silent++
		t.Note = strings.TrimSpace(t.Note + " " + callOrFinish)
	}
	if t.Reply.Text == "" && len(reply.Calls) == 0 {
		t.Reply.Text = "(nothing)" // services refuse a message of nothing
	}
	l.talk.Turns = append(l.talk.Turns, t)
	l.talk.trim()
	l.recordReply(reply)
	l.progress("", "")
}

// recordReply puts a line into the raw stream, where a reader finds what each turn took.
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
	}{"reply", l.talk.Turn, reply.Stop, calls, reply.Usage})
	if err == nil {
		l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamRaw, Text: string(line) + "\n"})
	}
}

// remind tells the model, at the end of a turn, that its turns come to an end.
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

func retryText(err error, try, tries int, wait time.Duration) string {
	return fmt.Sprintf("Retry %d/%d in %s: %s", try, tries, wait.Round(time.Millisecond), short(err.Error(), 200))
}
