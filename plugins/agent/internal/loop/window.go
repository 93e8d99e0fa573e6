package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// Limits of the conversation (REQUIREMENTS U165).
const (
	fullResults = 10   // newest results in full
	keptCalls   = 60   // calls in total
	keptTurns   = 40   // most turns that stay once there are more than keptCalls calls or 2*keptTurns turns
	shortText   = 1000 // bytes of a model's text or a note outside the window
	shortValue  = 200  // bytes of a text in arguments outside the window
)

// trim cuts everything outside the window permanently. The newest turn stays, because the model has not seen its results.
func (t *conversation) trim() {
	results, calls, newest := 0, 0, len(t.Turns)-1
	for i := newest; i >= 0; i-- {
		turn := &t.Turns[i]
		old := results >= t.Window || len(t.Turns)-i > keptTurns
		for j := len(turn.Results) - 1; j >= 0; j-- {
			if results++; results > t.Window && i < newest && !turn.Results[j].IsCut {
				turn.Results[j].Text, turn.Results[j].IsCut, turn.Results[j].ReadKey = turn.Results[j].Summary, true, ""
			}
		}
		if old {
			turn.shorten()
		}
		calls += len(turn.Results)
		if i < newest && (calls > keptCalls || len(t.Turns)-i > 2*keptTurns) {
			t.drop(max(i+1, len(t.Turns)-keptTurns))
			return
		}
	}
}

// drop removes the first n turns.
func (t *conversation) drop(n int) {
	for _, turn := range t.Turns[:n] {
		t.DroppedCalls += len(turn.Results)
	}
	t.Turns = append([]turn(nil), t.Turns[n:]...)
}

// shorten shortens the texts and arguments of an old turn, and drops its thinking.
func (t *turn) shorten() {
	t.Reply.Thinking = nil
	t.Reply.Text, t.Note = truncate(t.Reply.Text, shortText), truncate(t.Note, shortText)
	for i, call := range t.Reply.Calls {
		t.Reply.Calls[i].Args = truncateArgs(call.Args)
		t.Reply.Calls[i].Malformed = ""
	}
}

// narrow halves the window for a model with a smaller context. It reports false if the window cannot shrink.
func (t *conversation) narrow() bool {
	if t.Window <= 1 {
		return false
	}
	t.Window /= 2
	t.trim()
	return true
}

// record adds the record of the i-th call.
func (t *turn) record(i int, m callRecord) {
	m.Done, m.HasSecret = true, t.Results[i].HasSecret
	m.Summary = summarize(t.Reply.Calls[i], m)
	t.Results[i] = m
}

// truncateArgs returns the arguments with long texts replaced by their length.
func truncateArgs(args json.RawMessage) json.RawMessage {
	if len(args) <= shortValue {
		return args
	}
	var members any
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.UseNumber()
	if decoder.Decode(&members) != nil {
		return json.RawMessage("{}")
	}
	out, err := json.Marshal(truncateValues(members))
	if err != nil || len(out) > 10*shortValue {
		return json.RawMessage("{}")
	}
	return out
}

func truncateValues(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > shortValue {
			return fmt.Sprintf("[%d bytes, no longer shown]", len(v))
		}
	case []any:
		for i := range v {
			v[i] = truncateValues(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = truncateValues(v[k])
		}
	}
	return v
}

// truncate returns a text, cut to limit bytes and marked with … if it is longer.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}

// summarize returns the line that replaces a result: the tool, its main argument, the status and the size.
func summarize(call model.Call, m callRecord) string {
	var about struct{ Path, Command, Pattern string }
	_ = json.Unmarshal(call.Args, &about) // missing arguments are skipped
	label := call.Name
	for _, s := range []string{about.Path, about.Command, about.Pattern} {
		if s != "" {
			label += " " + truncate(s, 100)
		}
	}
	return fmt.Sprintf("[%s: %s, %d bytes, no longer shown]", label, m.Status, len(m.Text))
}

func newConversation() conversation {
	return conversation{Version: conversationVersion, Window: fullResults}
}

// bytesPerToken is the estimated size of a token where the service counts none.
const bytesPerToken = 4

// minReplyTokens is the smallest reply worth a request, in tokens.
const minReplyTokens = 64

// estimateTokens estimates the tokens of a request.
func estimateTokens(r model.Request) int64 {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Args)
		}
		for _, result := range m.Results {
			n += len(result.Text)
		}
	}
	for _, t := range r.Tools {
		n += len(t.Description) + len(t.Parameters)
	}
	return int64(n / bytesPerToken)
}
