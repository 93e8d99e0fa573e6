package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// What of the talk is kept (REQUIREMENTS U165).
const (
	fullResults = 10   // results in full, the newest
	keptCalls   = 60   // calls at all, in the end
	keptTurns   = 40   // turns that stay when there are more than keptCalls calls or twice as many turns
	shortText   = 1000 // bytes of a text of the model, or of a note, behind the window
	shortValue  = 200  // bytes of a text in arguments behind the window
)

// trim cuts what is behind the window, for good: what is cut once does not come back. The newest turn stays, since the
// model has not seen its results yet.
func (t *talk) trim() {
	results, calls, newest := 0, 0, len(t.Turns)-1
	for i := newest; i >= 0; i-- {
		turn := &t.Turns[i]
		old := results >= t.Window || len(t.Turns)-i > keptTurns
		for j := len(turn.Made) - 1; j >= 0; j-- {
			if results++; results > t.Window && i < newest && !turn.Made[j].Cut {
				turn.Made[j].Text, turn.Made[j].Cut, turn.Made[j].Read = turn.Made[j].Brief, true, ""
			}
		}
		if old {
			turn.shorten()
		}
		calls += len(turn.Made)
		if i < newest && (calls > keptCalls || len(t.Turns)-i > 2*keptTurns) {
			t.drop(max(i+1, len(t.Turns)-keptTurns))
			return
		}
	}
}

// drop forgets the first n turns.
func (t *talk) drop(n int) {
	for _, turn := range t.Turns[:n] {
		t.Left += len(turn.Made)
	}
	t.Turns = append([]turn(nil), t.Turns[n:]...)
}

// shorten leaves of an old turn what it was about.
func (t *turn) shorten() {
	t.Reply.Thinking = nil
	t.Reply.Text, t.Note = short(t.Reply.Text, shortText), short(t.Note, shortText)
	for i, call := range t.Reply.Calls {
		t.Reply.Calls[i].Args = shortArgs(call.Args)
		t.Reply.Calls[i].Malformed = ""
	}
}

// narrow makes the window smaller, since the model takes in less; false where it cannot be any smaller.
func (t *talk) narrow() bool {
	if t.Window <= 1 {
		return false
	}
	t.Window /= 2
	t.trim()
	return true
}

// shortArgs are arguments whose long texts are named by their length alone.
func shortArgs(args json.RawMessage) json.RawMessage {
	if len(args) <= shortValue {
		return args
	}
	var members any
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.UseNumber()
	if decoder.Decode(&members) != nil {
		return json.RawMessage("{}")
	}
	out, err := json.Marshal(shortValues(members))
	if err != nil || len(out) > 10*shortValue {
		return json.RawMessage("{}")
	}
	return out
}

func shortValues(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > shortValue {
			return fmt.Sprintf("[%d bytes, not shown any more]", len(v))
		}
	case []any:
		for i := range v {
			v[i] = shortValues(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shortValues(v[k])
		}
	}
	return v
}

// short is the beginning of a text.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}

// brief is the one line that is left of a result: what was called for what, how it ended, how much it said.
func brief(call model.Call, m made) string {
	var about struct{ Path, Command, Pattern string }
	_ = json.Unmarshal(call.Args, &about) // what is not there is not said
	what := call.Name
	for _, s := range []string{about.Path, about.Command, about.Pattern} {
		if s != "" {
			what += " " + short(s, 100)
		}
	}
	return fmt.Sprintf("[%s: %s, %d bytes, not shown any more]", what, m.Status, len(m.Text))
}
