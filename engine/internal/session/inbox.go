package session

import (
	"fmt"
	"slices"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// mailbox reads the messages to a session, and reports the files that do not count. It is safe for concurrent use.
type mailbox struct {
	handle *handle
	feed   *feed

	mu          sync.Mutex // guards:
	refused     int
	resolutions map[string]bool // refused resolution files, by escalation and digest
}

// maxRefusals bounds the refused files that one kernel reports, because any process can write any number of them.
const maxRefusals = 100

// inboxRun identifies the messages that count: those for the run, with the user's signature.
func inboxRun(st state.State) inbox.Run { return inbox.Run{ID: st.RunID, Keys: signing.UserKeys()} }

// poll returns the messages in the inbox that are not journaled, and reports the files that do not count. A read error is
// only logged.
func (b *mailbox) poll(st state.State) []inbox.Message {
	all, err := inbox.Poll(b.handle.dir, inboxRun(st))
	if err != nil {
		b.handle.log.Warn("cannot read messages in the inbox", "error", err)
	}
	var messages []inbox.Message
	for _, m := range all {
		switch {
		case m.Action == inbox.Rejected:
			b.refuseMessage(m, st.Status.Final())
		case slices.Contains(st.Handled, m.ID): // journaled before a crash, but not removed
			b.handle.ack(m.ID)
		default:
			messages = append(messages, m)
		}
	}
	return messages
}

// clear removes messages that an ended or paused session no longer needs. After an end these are all valid
// messages; after a pause they are the pause requests, which would pause the resumed run again.
func (b *mailbox) clear(st state.State) {
	for _, m := range b.poll(st) {
		if st.Status.Final() || m.Action == inbox.Pause {
			b.handle.log.Warn("control message ignored: session already ended or paused", "id", m.ID, "action", m.Action, "by", m.By)
			b.handle.ack(m.ID)
		}
	}
}

// refuse reports a file that does not count, in the log and in the journal of a session that has not ended.
func (b *mailbox) refuse(d event.MessageRefusedData, ended bool) {
	b.mu.Lock()
	b.refused++
	count := b.refused
	b.mu.Unlock()
	if count > maxRefusals {
		return
	}
	d.Path, d.Reason = event.Truncate(d.Path, event.MaxReason), event.Truncate(d.Reason, event.MaxReason)
	b.handle.log.Warn("refused a message", "file", d.Path, "reason", d.Reason, "remedy", failure.Render(d.Remedy, b.handle.env.Config.Program))
	if !ended {
		b.feed.appendInfo(event.New(event.MessageRefused, nil, "", d))
	}
}

// refuseMessage reports a file that Poll has moved out of the inbox.
func (b *mailbox) refuseMessage(m inbox.Message, ended bool) {
	d := event.MessageRefusedData{Path: store.BadInboxDir + "/" + m.ID + ".json", Reason: m.Reason}
	if step := sendAgain(m.Requested, b.handle.name); step != nil {
		d.Remedy = "if it was yours, send it again: `" + step.String() + "`"
	}
	b.refuse(d, ended)
}

// sendAgain returns the command that sends a message with the action, nil for no action.
func sendAgain(a inbox.Action, session string) fmt.Stringer {
	switch a {
	case inbox.Answer:
		return failure.Next("questions", "show", session) // which lists the commands that answer
	case inbox.Feedback:
		return failure.Next("feedback", session, "TEXT")
	case inbox.Pause, inbox.Abort:
		return failure.Next(string(a), session)
	default:
		return nil
	}
}

// refuseResolution reports a resolution file of a session with a sandbox, once for each content. The file stays.
func (b *mailbox) refuseResolution(o question.Open, f question.ResolutionFile) {
	b.mu.Lock()
	content := o.ID + " " + f.Digest
	known := b.resolutions[content]
	if b.resolutions == nil {
		b.resolutions = map[string]bool{}
	}
	b.resolutions[content] = true
	b.mu.Unlock()
	if !known {
		refused := question.Refused(b.handle.name, o.Question, f.Name)
		b.refuse(event.MessageRefusedData{Path: store.ResolutionFile(o.ID), Reason: refused.Message, Remedy: refused.Hint}, false)
	}
}

// acknowledge removes a message from the inbox once it is in the journal.
func (h *handle) acknowledge(e event.Event) { h.ack(messageID(e)) }

// messageID returns the id of the message that an event comes from, "" for none.
func messageID(e event.Event) string {
	switch e.Type {
	case event.Control:
		d, _ := event.Decode[event.ControlData](e) // without an id there is no message
		return d.ID
	case event.QuestionAnswered:
		d, _ := event.Decode[event.QuestionAnsweredData](e)
		return d.Control
	default:
		return ""
	}
}

// rejectEvent drops a control event that is invalid in the current state, such as an answer to another text of a
// question. The message that contained the event is set aside.
func (b *mailbox) rejectEvent(e event.Event, reason error) {
	id := messageID(e)
	moved, err := inbox.SetAside(b.handle.dir, id)
	switch {
	case err != nil:
		b.handle.log.Warn("cannot move a message out of the inbox", "id", id, "error", err)
	case moved:
		b.refuse(event.MessageRefusedData{Path: store.BadInboxDir + "/" + id + ".json", Reason: reason.Error()}, false)
	default:
		b.handle.log.Warn("control message rejected in the current state", "type", e.Type, "reason", reason)
	}
}

func (h *handle) ack(id string) {
	if id == "" {
		return
	}
	if err := inbox.Ack(h.dir, id); err != nil {
		h.log.Warn("cannot remove a message from the inbox", "id", id, "error", err)
	}
}
