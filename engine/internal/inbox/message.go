package inbox

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// MaxMessage is the largest message file in bytes. A message becomes one line of the journal;
// longer texts belong in files that the message names.
const MaxMessage = 32 << 10

// Action is the request of a message.
type Action string

// The actions. Readers get [Rejected] as well, which cannot be posted.
const (
	Pause    Action = "pause"    // stop after the running iteration, to be resumed
	Abort    Action = "abort"    // end the session for good
	Answer   Action = "answer"   // to a question, see Question, Answer and Digest
	Feedback Action = "feedback" // text for the agent's next prompt
	// Rejected represents a file that does not count: it was no message, or not one of the user for this run. The file
	// is in inbox/bad under its name, and Reason is the fault. Such a message needs no [Ack].
	Rejected Action = "rejected"
)

var postable = []Action{Pause, Abort, Answer, Feedback}

// Message is one request of another process. Post sets ID, Session, Key and Signature, and At if it is zero. Action is
// required, and Question for an answer; the other members may be empty.
type Message struct {
	ID       string    `json:"id"` // sorts by time of posting, unique
	Action   Action    `json:"action"`
	Session  string    `json:"session,omitempty"`
	RunID    string    `json:"run_id,omitempty"` // of the run that the sender saw
	By       string    `json:"by,omitempty"`     // the sender, for the journal
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`                 // of posting, UTC
	Question string    `json:"question,omitempty"` // id of the question that is answered
	Answer   string    `json:"answer,omitempty"`   // an option's name or free text
	Digest   string    `json:"digest,omitempty"`   // of the question as it was shown
	Text     string    `json:"text,omitempty"`     // feedback, or a note to an answer
	// Key is the sender's public key. Signature covers all other members, see [Message.signed]. Both are texts of
	// package signing.
	Key       string `json:"key,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Trusted is the name of the trusted key that signed the message, "" for the user's own key. Only readers set it.
	Trusted string `json:"-"`
	// Requested is the action that a rejected message asked for, "" if the file was no message.
	Requested Action `json:"-"`
}

// Run identifies the messages that count: those for the run, signed by one of the keys.
type Run struct {
	ID   string
	Keys signing.Keys
}

// signed returns the text that the signature of a message covers: the purpose, and the message without key and
// signature as JSON. The message was parsed from JSON, so that sender and reader encode the same values.
func (m Message) signed() ([]byte, error) {
	m.Key, m.Signature = "", ""
	text, err := json.Marshal(m)
	return append([]byte("inbox message 1\n"), text...), err
}

// sign signs a message, and normalizes it to the values that a reader parses.
func (m *Message) sign(keys signing.Keys) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	*m = Message{}
	if err = json.Unmarshal(text, m); err != nil {
		return err
	}
	if text, err = m.signed(); err != nil {
		return err
	}
	m.Key, m.Signature, err = keys.Sign(text)
	return err
}

// verify checks that the user, or the owner of a key that the user trusts, wrote the message for this run of the
// session. Only an error that wraps [signing.ErrInvalid] means that the message does not count.
func (m *Message) verify(session string, run Run) error {
	if m.Signature == "" {
		return fmt.Errorf("%w: the message has none", signing.ErrInvalid)
	}
	text, err := m.signed()
	if err != nil {
		return err
	}
	key, err := run.Keys.Verify(text, m.Key, m.Signature)
	switch {
	case err != nil:
		return err
	case m.Session != session:
		return fmt.Errorf("%w: the message is for session %q", signing.ErrInvalid, m.Session)
	case m.RunID != run.ID:
		return fmt.Errorf("%w: the message is for run %q, this is run %s", signing.ErrInvalid, m.RunID, run.ID)
	}
	m.Trusted = key.Name
	return nil
}

// suffix ends the names of message files.
const suffix = ".json"

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// validID reports whether an id is a valid file name on every system; hidden files are not messages.
func validID(id string) bool { return len(id) <= 128 && idPattern.MatchString(id) }

// newID returns an id that begins with the time in a fixed width, so that ids sort by time.
func newID(at time.Time) string {
	return at.UTC().Format("20060102T150405.000000000Z") + "-" + strings.ToLower(rand.Text()[:10])
}

// parse reads the message in a file with the id. Unknown members are ignored.
func parse(id string, text []byte) (Message, error) {
	if !validID(id) {
		return Message{}, errors.New("its name is not an id")
	}
	var m Message
	if err := json.Unmarshal(text, &m); err != nil {
		return Message{}, fmt.Errorf("not a message: %w", err)
	}
	if m.ID = cmp.Or(m.ID, id); m.ID != id {
		return Message{}, errors.New("its id is not the file's name")
	}
	if err := m.check(); err != nil {
		return Message{}, err
	}
	return m, nil
}

// check returns nil for a message that may be posted.
func (m *Message) check() error {
	if !slices.Contains(postable, m.Action) {
		return fmt.Errorf("unknown action %q", m.Action)
	}
	if m.Action == Answer && m.Question == "" {
		return errors.New("an answer names no question")
	}
	return nil
}

// Event converts the message into an event. Overlong texts, which were not posted by this
// program, are truncated. The author of a message with a trusted key is followed by the name of the key.
func (m Message) Event() event.Event {
	by, text := m.By, event.Truncate(m.Text, event.MaxText)
	if m.Trusted != "" {
		by = strings.TrimSpace(event.Truncate(by, event.MaxName/2) + " (key " + m.Trusted + ")")
	}
	by = event.Truncate(by, event.MaxName)
	if m.Action == Answer {
		return event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{
			ID: m.Question, By: by, Answer: m.Answer, Text: text, Digest: m.Digest, Control: m.ID,
		})
	}
	return event.New(event.Control, nil, "", event.ControlData{
		ID: m.ID, Action: string(m.Action), By: by, Reason: event.Truncate(m.Reason, event.MaxText), Text: text,
	})
}
