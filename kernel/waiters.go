package kernel

import (
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// answerWaiters are the effects that wait for the user, by the id of their question. It is safe for concurrent use.
type answerWaiters struct {
	mu      sync.Mutex // guards waiting
	waiting map[string]chan<- event.QuestionAnsweredData
}

// dueTime returns a channel that fires at the question's deadline; nil for none. stop releases its timer.
func dueTime(d event.QuestionAskedData) (due <-chan time.Time, stop func()) {
	if d.Due == nil {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(*d.Due))
	return t.C, func() { t.Stop() }
}

// await registers a waiter and returns the channel for its answer; false if the question has a waiter already.
func (w *answerWaiters) await(id string) (<-chan event.QuestionAnsweredData, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, exists := w.waiting[id]; exists {
		return nil, false
	}
	if w.waiting == nil {
		w.waiting = map[string]chan<- event.QuestionAnsweredData{}
	}
	c := make(chan event.QuestionAnsweredData, 1)
	w.waiting[id] = c
	return c, true
}

func (w *answerWaiters) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, id)
}

// deliver sends a committed answer to its waiter.
func (w *answerWaiters) deliver(e event.Event) {
	if e.Type != event.QuestionAnswered {
		return
	}
	d, err := event.Decode[event.QuestionAnsweredData](e)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, exists := w.waiting[d.ID]; exists {
		c <- d // once: the question is closed now
		delete(w.waiting, d.ID)
	}
}
