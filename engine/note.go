package engine

import "github.com/dodo-digital/agent-pipelines/kernel/event"

// inform keeps events that only inform until the run has begun, and then journals them.
func (s *session) inform(notes []event.Event) {
	s.noticing.Lock()
	defer s.noticing.Unlock()
	for _, e := range notes {
		e.Volatile = true
		s.notices = append(s.notices, e)
	}
}
