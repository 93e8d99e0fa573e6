package session

import (
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// pollInbox returns the messages in the inbox. A read error is only logged.
func (h *handle) pollInbox() []inbox.Message {
	messages, err := inbox.Poll(h.dir)
	if err != nil {
		h.log.Warn("cannot read messages in the inbox", "error", err)
	}
	return messages
}

// clearInbox removes messages that an ended or paused session no longer needs. After an end these are all valid
// messages; after a pause they are the pause requests, which would pause the resumed run again.
func (h *handle) clearInbox(status state.Status) {
	for _, m := range h.pollInbox() {
		if status.Final() && m.Action != inbox.Rejected || m.Action == inbox.Pause {
			h.log.Warn("control message ignored: session already ended or paused", "id", m.ID, "action", m.Action, "by", m.By)
			h.ack(m.ID)
		}
	}
}

// acknowledge removes a message from the inbox once it is in the journal.
func (h *handle) acknowledge(e event.Event) {
	switch e.Type {
	case event.Control:
		d, _ := event.Decode[event.ControlData](e) // without an id there is no message
		h.ack(d.ID)
	case event.QuestionAnswered:
		d, _ := event.Decode[event.QuestionAnsweredData](e)
		h.ack(d.Control)
	}
}

// rejectEvent drops a control event that is invalid in the current state.
func (h *handle) rejectEvent(e event.Event, reason error) {
	h.log.Warn("control message rejected in the current state", "type", e.Type, "reason", reason)
	h.acknowledge(e)
}

func (h *handle) ack(id string) {
	if id == "" {
		return
	}
	if err := inbox.Ack(h.dir, id); err != nil {
		h.log.Warn("cannot remove a message from the inbox", "id", id, "error", err)
	}
}
