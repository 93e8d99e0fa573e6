package contract

import "github.com/dodo-digital/agent-pipelines/kernel/event"

// Inspect looks at the input artifact of the node that the job is about, and returns input_checked, with the command's
// key: the node can begin with it, is skipped because of it, or cannot begin, and why.
func (s *Settler) Inspect(j Job) event.Event {
	w := s.work(j)
	return event.New(event.InputChecked, w.at.Cursor(), j.Command.Key, event.InputCheckedData{})
}
