package why

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxQuote bounds a quoted text, in bytes.
const maxQuote = 400

// quote quotes a text on one line.
func quote(text string) string {
	return `"` + brief(text) + `"`
}

func brief(text string) string {
	return event.Truncate(strings.Join(strings.Fields(text), " "), maxQuote)
}

// reasonSuffix returns a reason as the end of a sentence.
func reasonSuffix(reason string) string {
	if reason = brief(reason); reason == "" {
		return ""
	}
	return ": " + reason
}

func by(user string) string {
	if user == "" {
		return ""
	}
	return " by " + user
}

// failure describes a failure: "provider_failed (AP-PROV-002): no answer".
func failure(d event.FailureData) string {
	text := d.ErrorType
	if d.Code != "" {
		text += " (" + d.Code + ")"
	}
	return text + reasonSuffix(d.Message)
}

// tally counts reasons; reasons that differ only in their digits are one.
type tally struct {
	reasons []*reason // the latest reason last
	dropped int       // occurrences of the dropped reasons
}

// maxReasons is the number of different reasons that a tally keeps.
const maxReasons = 4

type reason struct {
	shape string // without digits
	text  string // latest text
	times int
	first int // the first iteration with the reason
	last  int
}

func (t *tally) add(text string, iteration int) {
	text = brief(text)
	if text == "" {
		return
	}
	shape := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
	r := &reason{shape: shape, first: iteration}
	if i := slices.IndexFunc(t.reasons, func(other *reason) bool { return other.shape == shape }); i >= 0 {
		r = t.reasons[i]
		t.reasons = slices.Delete(t.reasons, i, i+1)
	}
	r.text, r.last = text, iteration
	r.times++
	t.reasons = append(t.reasons, r)
	if len(t.reasons) > maxReasons {
		t.dropped += t.reasons[0].times
		t.reasons = t.reasons[1:]
	}
}

// text lists the reasons, the latest first; "" for none.
func (t *tally) text() string {
	var parts []string
	for _, r := range slices.Backward(t.reasons) {
		part := `"` + r.text + `"`
		if len(t.reasons) > 1 || t.dropped > 0 {
			part += fmt.Sprintf(" (%s)", r.when())
		} else if r.times > 1 && r.first != r.last {
			part += " the last time"
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ", ")
	if t.dropped > 0 {
		text += fmt.Sprintf(", and %d times something else", t.dropped)
	}
	return text
}

// when returns the iterations of a reason in words.
func (r *reason) when() string {
	switch r.times {
	case 1:
		return fmt.Sprintf("iteration %d", r.last)
	case 2:
		return fmt.Sprintf("iterations %d and %d", r.first, r.last)
	default:
		return fmt.Sprintf("%d times, last in iteration %d", r.times, r.last)
	}
}
