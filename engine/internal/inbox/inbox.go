package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// postTries is the number of times that Post writes a message. A kernel that starts may mistake a half-written file
// for the remains of a crash and remove it.
const postTries = 3

// Post signs a message for a run of the session, writes it for the session's holder and returns its id. The message is
// durable when Post returns; Post does not wait for a reader. A message with an unknown action, an answer without a
// question, or a message above [MaxMessage] is refused with kind config_invalid.
func Post(d *store.Dir, run Run, m Message) (id string, err error) {
	now := time.Now().UTC()
	m.ID, m.Session, m.RunID = newID(now), d.Session(), run.ID
	if m.At.IsZero() {
		m.At = now
	}
	if err := m.check(); err != nil {
		return "", failure.New(failure.ConfigInvalid, "post to session %q: %w", d.Session(), err)
	}
	if err := m.sign(run.Keys); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", fmt.Errorf("post to session %q: %w", d.Session(), err)
	}
	if len(text) > MaxMessage {
		return "", failure.New(failure.ConfigInvalid, "post to session %q: the message has %d bytes, at most %d are accepted", d.Session(), len(text), MaxMessage).
			WithHint("put the text into a file and name the file in the message")
	}
	for range postTries {
		_, err = d.Write(file(m.ID), append(text, '\n'))
		if !errors.Is(err, fs.ErrNotExist) || d.CheckIntact() != nil {
			break
		}
	}
	if err != nil {
		return "", err
	}
	return m.ID, nil
}

// Poll returns the messages in the inbox, in the order of their ids. Messages are not removed. A file that is not a
// message for the run is moved to inbox/bad and reported as [Rejected]. With an error Poll also returns the messages
// that it could read. A message stays in the inbox while the keys cannot be read.
func Poll(d *store.Dir, run Run) ([]Message, error) {
	entries, err := d.Entries(store.InboxDir)
	if err != nil {
		return nil, err
	}
	var messages []Message
	var faults []error
	for _, e := range entries {
		if e.IsDir() || store.IsTemp(e.Name()) || path.Ext(e.Name()) != suffix {
			continue
		}
		m, err := read(d, run, e)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			faults = append(faults, err)
		default:
			messages = append(messages, m)
		}
	}
	return messages, errors.Join(faults...)
}

// Interval is the time between two reads of the inbox by a session's holder.
const Interval = 250 * time.Millisecond

// Watch reads the inbox of a session repeatedly. It is not safe for concurrent use.
type Watch struct {
	dir  *store.Dir
	run  Run
	seen map[string]bool // ids of the messages in the last read
}

// NewWatch returns a watch for messages to a run that has not read the session's inbox yet.
func NewWatch(d *store.Dir, run Run) *Watch { return &Watch{dir: d, run: run} }

// Poll reads the inbox and calls deliver for each message that the last read did not find, in the order of their ids.
// Each message is delivered once, acknowledged or not; deliver may call [Ack]. With an error Poll also delivers the
// messages that it could read.
func (w *Watch) Poll(deliver func(Message)) error {
	messages, err := Poll(w.dir, w.run)
	seen := make(map[string]bool, len(messages))
	for _, m := range messages {
		if m.Action == Rejected || !w.seen[m.ID] {
			deliver(m)
		}
		seen[m.ID] = m.Action != Rejected
	}
	w.seen = seen
	return err
}

// Before returns an earlier answer to the same question that is still in the inbox. The process that runs the session
// applies the earlier answer. Before ignores files that are not messages for the run.
func Before(d *store.Dir, run Run, answer Message) (Message, bool) {
	entries, err := d.Entries(store.InboxDir)
	if err != nil {
		return Message{}, false
	}
	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), suffix)
		if id >= answer.ID || !e.Type().IsRegular() {
			continue
		}
		text, err := d.Read(file(id), MaxMessage+1)
		if err != nil {
			continue
		}
		m, err := parse(id, text)
		if err == nil && m.Action == Answer && m.Question == answer.Question && m.verify(d.Session(), run) == nil {
			return m, true
		}
	}
	return Message{}, false
}

// Ack removes a message that has been recorded. A missing message is not an error.
func Ack(d *store.Dir, id string) error {
	if !validID(id) {
		return nil // a file with such a name is not a message, see reject
	}
	failpoint.Point("inbox.ack.before-remove")
	return d.Remove(file(id))
}

func file(id string) string { return store.InboxDir + "/" + id + suffix }

// SetAside moves the file of a message that was not accepted to inbox/bad. It returns false if there is no such file.
func SetAside(d *store.Dir, id string) (bool, error) {
	if !validID(id) {
		return false, nil
	}
	failpoint.Point("inbox.set-aside.before-rename")
	err := d.Rename(file(id), store.BadInboxDir+"/"+id+suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// read reads one file, or moves it to inbox/bad if it is not a message for the run.
func read(d *store.Dir, run Run, e fs.DirEntry) (Message, error) {
	id := strings.TrimSuffix(e.Name(), suffix)
	if !e.Type().IsRegular() {
		return reject(d, e.Name(), "", errors.New("not a regular file"))
	}
	text, err := d.Read(file(id), MaxMessage+1) // one more byte for the newline
	if errors.Is(err, store.ErrTooLarge) {
		return reject(d, e.Name(), "", err)
	}
	if err != nil {
		return Message{}, err
	}
	m, err := parse(id, text)
	if err != nil {
		return reject(d, e.Name(), "", err)
	}
	err = m.verify(d.Session(), run)
	if errors.Is(err, signing.ErrInvalid) {
		return reject(d, e.Name(), m.Action, err)
	}
	return m, err
}

// reject moves a file to inbox/bad, where it replaces a file of the same name, and returns a message that reports it.
func reject(d *store.Dir, name string, requested Action, reason error) (Message, error) {
	failpoint.Point("inbox.reject.before-rename")
	if err := d.Rename(store.InboxDir+"/"+name, store.BadInboxDir+"/"+name); err != nil {
		return Message{}, err
	}
	return Message{
		ID: strings.TrimSuffix(name, suffix), Action: Rejected, Requested: requested, At: time.Now().UTC(),
		Reason: fmt.Sprintf("%s was moved to %s: %v", name, store.BadInboxDir, reason),
	}, nil
}
