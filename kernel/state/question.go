package state

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Question is an open question to the user. Most members are copied from the event that asked the question.
type Question struct {
	Kind   string    `json:"kind"`
	Digest string    `json:"digest"`
	Key    event.Key `json:"key,omitempty"`  // of the waiting effect, node or hook
	Node   string    `json:"node,omitempty"` // path of the node
	QuestionText
	AskedAt   time.Time        `json:"asked_at,omitzero"`
	Due       *time.Time       `json:"due,omitempty"`
	Code      string           `json:"code,omitempty"`
	Remedy    string           `json:"remedy,omitempty"`
	Waits     bool             `json:"waits,omitempty"`
	OnTimeout string           `json:"on_timeout,omitempty"`
	Call      *event.AskedCall `json:"call,omitempty"`
	// Escalation is the name of an escalation's file without its extension: ESC-<yyyymmddHHMMSS>[-n].
	Escalation string `json:"escalation,omitempty"`
	// Expired is true if the deadline has passed and the timeout action is still due.
	Expired bool `json:"lapsed,omitempty"`
	// Answer is the user's answer, nil before it.
	Answer *Answer `json:"answer,omitempty"`
}

// QuestionText is the text of a question, with its options and the files that it shows.
type QuestionText struct {
	Text           string      `json:"text,omitempty"`
	Options        []string    `json:"options,omitempty"`
	AcceptFeedback bool        `json:"accept_feedback,omitempty"`
	Preview        string      `json:"preview,omitempty"`
	Shown          []event.Ref `json:"shown,omitempty"`
}

// Answer is an answer of the user that the run has not used yet.
type Answer struct {
	Option string    `json:"word"` // one of the question's options
	Text   string    `json:"text,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"`
}

// EscalationName returns the name of an escalation that is asked at the given time: ESC-<yyyymmddHHMMSS> (REQUIREMENTS
// U128). A number follows if the previous name, before, has the same second.
func EscalationName(before string, at time.Time) string {
	name := "ESC-" + at.UTC().Format("20060102150405")
	switch rest, same := strings.CutPrefix(before, name); {
	case !same:
		return name
	case rest == "":
		return name + "-2"
	default:
		n, _ := strconv.Atoi(rest[1:]) // EscalationName wrote it
		return fmt.Sprintf("%s-%d", name, n+1)
	}
}

// FromLoopHook reports whether a hook of the loop at the location asks the question.
func (q Question) FromLoopHook(loc event.Location) bool {
	kind, other, _, ok := q.Key.Parse()
	return ok && kind == event.KeyHook && other.Node == loc.Node && other.Branch == loc.Branch
}
