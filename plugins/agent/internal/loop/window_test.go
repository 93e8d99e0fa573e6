package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// endless is a model that never finishes: in each turn it writes a big file and reads two.
type endless struct {
	n        int
	requests []model.Request
	most     int // bytes of the largest request
}

func (e *endless) Reply(_ context.Context, r model.Request, text func(string)) (model.Reply, error) {
	e.n++
	size := 0
	for _, m := range r.Messages {
		size += len(m.Text)
		for _, c := range m.Calls {
			size += len(c.Args)
		}
		for _, result := range m.Results {
			size += len(result.Text)
		}
	}
	e.most = max(e.most, size)
	e.requests = []model.Request{r} // the last request
	text("so")
	return newReply(strings.Repeat("words ", 200),
		"write_file", fmt.Sprintf(`{"path":"f%d","content":%q}`, e.n, strings.Repeat("y", 6000)),
		"read_file", fmt.Sprintf(`{"path":"a%d"}`, e.n), "read_file", fmt.Sprintf(`{"path":"b%d"}`, e.n)), nil
}

func TestWindow(t *testing.T) { // U165, U183
	s := &scriptedModel{}
	for i := range 15 {
		s.replies = append(s.replies, newReply("", "read_file", fmt.Sprintf(`{"path":"f%d"}`, i+1)))
	}
	s.replies = append(s.replies, newReply("", "finish", success))
	w, _, e := newAttempt(t, s, nil)
	e.size = 300
	end(t, w)
	last := s.requests[15]
	if got := inFull(last); got != 10 {
		t.Errorf("%d results in full", got)
	}
	if got := last.Messages[2].Results[0].Text; got != "[read_file f1: success, 342 bytes, no longer shown]" {
		t.Errorf("an old result is shown as %q", got)
	}
	if last.Messages[0].Text != "Do it." {
		t.Errorf("the prompt became %q", last.Messages[0].Text)
	}
}

// TestKeep: the tools get the keys of the reads that the model still has in full, and no other keys.
func TestKeep(t *testing.T) { // U183
	s := &scriptedModel{}
	for i := range 13 {
		s.replies = append(s.replies, newReply("", "read_file", fmt.Sprintf(`{"path":"f%d"}`, i+1)))
	}
	s.replies = append(s.replies, newReply("", "finish", success))
	w, _, e := newAttempt(t, s, nil)
	e.result = func(_ string, args json.RawMessage) *tool.Result {
		return &tool.Result{Status: sdk.ToolSuccess, Data: json.RawMessage(`{}`), Key: string(args)}
	}
	end(t, w)
	// the call that is about to be made is the tenth
	if len(e.keptKeys) != 9 || e.keptKeys[0] != `{"path":"f5"}` || e.keptKeys[8] != `{"path":"f13"}` {
		t.Errorf("kept %q", e.keptKeys)
	}
}

// TestLongConversationStaysSmall: after 300 turns, checkpoint and requests are as small as after 100.
func TestLongConversationStaysSmall(t *testing.T) { // U165, U177
	sizes := map[int]int{}
	sent := map[int]int{}
	for _, turns := range []int{100, 300} {
		m := &endless{}
		w, j, e := newAttempt(t, nil, func(w *Attempt) { w.Client, w.MaxTurns = m, turns })
		e.size = 2000
		end(t, w)
		for _, c := range j.checkpoints() {
			sizes[turns] = max(sizes[turns], len(c.Blob))
		}
		sent[turns] = m.most
		if m.n != turns {
			t.Errorf("%d turns, want %d", m.n, turns)
		}
		if first := m.requests[0].Messages[0].Text; !strings.Contains(first, "earlier tool calls") {
			t.Errorf("the model is not informed of the dropped calls: %q", first)
		}
	}
	const most = 150_000 // ten results, the arguments of four turns, and lines
	if sizes[300] > most || sizes[300] > sizes[100]*11/10 {
		t.Errorf("checkpoints of %d bytes after 100 turns, of %d after 300", sizes[100], sizes[300])
	}
	if sent[300] > most || sent[300] > sent[100]*11/10 {
		t.Errorf("requests of %d bytes after 100 turns, of %d after 300", sent[100], sent[300])
	}
}

func TestTextConversationStaysSmall(t *testing.T) {
	s := &scriptedModel{replies: []model.Reply{newReply(strings.Repeat("words ", 2000))}}
	w, j, _ := newAttempt(t, s, func(w *Attempt) { w.Request.StepID, w.Request.MaxTurns = "s", 300 })
	end(t, w)
	most := 0
	for _, c := range j.checkpoints() {
		most = max(most, len(c.Blob))
	}
	if most > 700_000 {
		t.Errorf("a checkpoint of %d bytes", most)
	}
}

func TestShortArgs(t *testing.T) {
	long := strings.Repeat("z", 300)
	tests := []struct{ args, want string }{
		{`{"path":"a"}`, `{"path":"a"}`},
		{`{"path":"a","content":"` + long + `"}`, `{"content":"[300 bytes, no longer shown]","path":"a"}`},
		{`{"edits":[{"old":"` + long + `","new":"b"}],"n":12345678901234567890}`, `{"edits":[{"new":"b","old":"[300 bytes, no longer shown]"}],"n":12345678901234567890}`},
		{`{"many":[` + strings.Repeat(`"0123456789",`, 400) + `1]}`, `{}`},
	}
	for _, tt := range tests {
		if got := string(truncateArgs(json.RawMessage(tt.args))); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
