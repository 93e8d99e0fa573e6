package event

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// ControlData is what somebody asked of a running or paused session.
type ControlData struct {
	ID     string `json:"id"`     // of the inbox message, for recognition after a crash
	Action string `json:"action"` // pause, abort, feedback
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	Kind   string `json:"kind,omitempty"` // of a pause: signal, user
	Text   string `json:"text,omitempty"` // of feedback: for the agent's next prompt
}

// The kinds of questions to people (DESIGN 5).
const (
	QuestionConfirm    = "confirm"
	QuestionSupervise  = "supervise"
	QuestionTool       = "tool"
	QuestionEscalation = "escalation"
)

// The answers that questions offer. A question that takes feedback also takes a reject with text. Skip is of tool calls:
// the call is left out, and the agent is told nothing against it.
const (
	AnswerApprove = "approve"
	AnswerReject  = "reject"
	AnswerSkip    = "skip"
)

// QuestionAskedData asks a person. Its key is that of what waits for the answer.
type QuestionAskedData struct {
	ID      string   `json:"id"`     // short, one word; the same when it is asked again
	Kind    string   `json:"kind"`   // one of the Question… constants
	Digest  string   `json:"digest"` // of everything that is shown
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"` // answers that it takes
	// Hook and Point are of the confirm that asks; zero in other questions.
	Hook  int    `json:"hook,omitempty"`
	Point string `json:"point,omitempty"`
	// AcceptFeedback: a reject may have text. It then sends the stage back instead of ending the run; that of a tool
	// call is told to the agent, and without a text ends nothing either.
	AcceptFeedback bool `json:"accept_feedback,omitempty"`
	// Preview is the beginning of what it is about, Shown are the files themselves, as they were then: of
	// files outside the session the path is absolute.
	Preview string `json:"preview,omitempty"`
	Shown   []Ref  `json:"shown,omitempty"`
	// Changed: it was asked before, and what was shown then is no longer so.
	Changed bool `json:"changed,omitempty"`
	// Code is that of what made a person needed, for an escalation, and Remedy what can be done about it.
	Code   string `json:"code,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Waits: the run goes on running until the escalation is answered, and keeps its lock. Within is how long that may
	// take from now, 0 for no limit; then OnTimeout is done: abort, pause or failed.
	Waits     bool          `json:"waits,omitempty"`
	Within    time.Duration `json:"within_ns,omitempty"`
	OnTimeout string        `json:"on_timeout,omitempty"`
	Due       *time.Time    `json:"due,omitempty"`  // of a tool call: when it is answered as expired, nil: never
	Call      *AskedCall    `json:"call,omitempty"` // of kind tool
}

// AskedCall is the tool call that a person is asked about.
type AskedCall struct {
	Tool string `json:"tool"`
	// Operation is its category, "" where the provider does not say.
	Operation string   `json:"operation,omitempty"`
	Paths     []string `json:"paths,omitempty"`
	Command   string   `json:"command,omitempty"`
	Reason    string   `json:"reason,omitempty"` // the agent's own word for why
	Risk      string   `json:"risk"`             // low, medium or high
	Rule      string   `json:"rule,omitempty"`   // what of the policy asks
}

// QuestionAnsweredData is a person's answer; it counts only for the digest that was shown.
type QuestionAnsweredData struct {
	ID     string `json:"id"`
	By     string `json:"by,omitempty"`
	Answer string `json:"answer"`         // one of the question's options
	Text   string `json:"text,omitempty"` // approve: for the agent's next prompt; reject: feedback
	Digest string `json:"digest"`
	// Expired: no person answered before the question's due time.
	Expired bool   `json:"expired,omitempty"`
	Control string `json:"control,omitempty"` // id of the inbox message it came by
}

// NotifiedData says that people outside were told that the session waits or has ended.
type NotifiedData struct {
	Entry    int    `json:"entry"`  // number of the entry of notify in the settings, from 1
	Action   string `json:"action"` // that was called
	Point    string `json:"point"`  // waiting, paused, failed, aborted, completed
	Question string `json:"question,omitempty"`
	Times    int    `json:"times"` // how often this was told, from 1
	// Error is why they could not be told, "" if they were.
	Error      string `json:"error,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// QuestionID is the id of the question that what has the key asks: short enough to be typed, and the same
// whenever it is asked.
func QuestionID(key Key) string { return "q-" + Digest(string(key))[:8] }

// ToolQuestionID is the id of the question whether a tool call may be made: of its iteration, whichever attempt
// makes the call.
func ToolQuestionID(loc Location, callID string) string {
	return QuestionID(loc.Key(KeyAttempt, 0) + Key("/"+callID))
}

// Digest is the SHA-256 of a text, in lower-case hex.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
