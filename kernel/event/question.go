package event

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// ControlData is a request to a running or paused session.
type ControlData struct {
	ID     string `json:"id"`     // of the inbox message, to recognize it after a crash
	Action string `json:"action"` // pause, abort, feedback
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	Kind   string `json:"kind,omitempty"` // of a pause, as in [SessionPausedData]
	Text   string `json:"text,omitempty"` // of feedback: for the agent's next prompt
}

// The kinds of questions to the user.
const (
	QuestionConfirm    = "confirm"
	QuestionSupervise  = "supervise"
	QuestionTool       = "tool"
	QuestionEscalation = "escalation"
)

// The answers that questions offer. A question that accepts feedback also accepts a reject with text. Skip is for
// tool calls: the call is left out without a message to the agent.
const (
	AnswerApprove = "approve"
	AnswerReject  = "reject"
	AnswerSkip    = "skip"
)

// QuestionAskedData asks the user a question. Its event has the key of the waiting action.
type QuestionAskedData struct {
	ID      string   `json:"id"`     // short, one word; the same if it is asked again
	Kind    string   `json:"kind"`   // one of the Question… constants
	Digest  string   `json:"digest"` // of everything that is shown
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"` // the accepted answers
	// Hook and Point are those of the confirm that asks; zero in other questions.
	Hook  int    `json:"hook,omitempty"`
	Point string `json:"point,omitempty"`
	// AcceptFeedback means that a reject may have text. A reject with text restarts the stage instead of ending the
	// run. For a tool call the text goes to the agent, and a reject never ends the run.
	AcceptFeedback bool `json:"accept_feedback,omitempty"`
	// Preview is the beginning of the subject, Shown are its files with their digests when asked. Files outside the
	// session have absolute paths.
	Preview string `json:"preview,omitempty"`
	Shown   []Ref  `json:"shown,omitempty"`
	// Changed means that the question was asked before and the shown content has changed since.
	Changed bool `json:"changed,omitempty"`
	// Code is the code of an escalation's cause, and Remedy its hint.
	Code   string `json:"code,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Waits means that the run keeps running, with its lock, until the escalation is answered. TimeLimit is the limit
	// from the event's time, 0 for none; OnTimeout is the action after it: abort, pause or failed.
	Waits     bool          `json:"waits,omitempty"`
	TimeLimit time.Duration `json:"within_ns,omitempty"`
	OnTimeout string        `json:"on_timeout,omitempty"`
	Due       *time.Time    `json:"due,omitempty"`  // of a tool call: when it expires, nil: never
	Call      *AskedCall    `json:"call,omitempty"` // of kind tool
}

// AskedCall is the tool call of a question.
type AskedCall struct {
	Tool string `json:"tool"`
	// Operation is its category, "" if the provider does not report one.
	Operation string   `json:"operation,omitempty"`
	Paths     []string `json:"paths,omitempty"`
	Command   string   `json:"command,omitempty"`
	Reason    string   `json:"reason,omitempty"` // as given by the agent
	Risk      string   `json:"risk"`             // low, medium or high
	Rule      string   `json:"rule,omitempty"`   // the part of the policy that asks
}

// QuestionAnsweredData is the user's answer; it counts only for the digest that was shown.
type QuestionAnsweredData struct {
	ID     string `json:"id"`
	By     string `json:"by,omitempty"`
	Answer string `json:"answer"`         // one of the question's options
	Text   string `json:"text,omitempty"` // approve: for the agent's next prompt; reject: feedback
	Digest string `json:"digest"`
	// Expired means that the question's due time passed without an answer.
	Expired bool   `json:"expired,omitempty"`
	Control string `json:"control,omitempty"` // id of the inbox message that contained it
}

// NotifiedData reports a notification that the session waits or has ended.
type NotifiedData struct {
	Entry    int    `json:"entry"`  // number of the entry of notify in the settings, from 1
	Action   string `json:"action"` // the action that was called
	Point    string `json:"point"`  // waiting, paused, failed, aborted, completed
	Question string `json:"question,omitempty"`
	Times    int    `json:"times"` // 1; above 1 only in journals of earlier versions, which sent reminders
	// Error is the reason why the notification failed, "" if it did not.
	Error      string `json:"error,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// MessageRefusedData reports a file of the inbox, or a resolution file, that does not count. Any process that can write
// into the session's directory may have made it.
type MessageRefusedData struct {
	Path   string `json:"path"`   // of the file now, relative to the session's directory
	Reason string `json:"reason"` // why the file does not count
	// Remedy is the user's next step if the message was theirs, "" if the file was no message.
	Remedy string `json:"remedy,omitempty"`
}

// QuestionID returns the id of the question that the key's action asks: short enough to type, and the same whenever
// it is asked.
func QuestionID(key Key) string { return "q-" + Digest(string(key))[:8] }

// ToolQuestionID returns the id of the question about a tool call. The id belongs to the iteration, so that it is
// the same in every attempt.
func ToolQuestionID(loc Location, callID string) string {
	return QuestionID(loc.Key(KeyAttempt, 0) + Key("/"+callID))
}

// Digest returns the SHA-256 of a text in lower-case hex.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
