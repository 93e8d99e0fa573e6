package kernel

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// viewer keeps state.json in step with the journal.
type viewer interface {
	Update(e event.Event, st state.State) error
	Flush(st state.State) error
}

type noView struct{}

func (noView) Update(event.Event, state.State) error { return nil }
func (noView) Flush(state.State) error               { return nil }
func (s *session) recordCompletion(*Result) error    { return nil }
