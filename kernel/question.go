package kernel

import (
	"context"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// answerWaiters are the effects that wait for the user, by the id of their question. It is safe for concurrent use.
type answerWaiters struct {
	mu      sync.Mutex // guards:
	waiting map[string]chan<- event.QuestionAnsweredData
}

// ask is Work.Ask.
func (r *runner) ask(ctx context.Context, asked event.Event) (event.QuestionAnsweredData, error) {
	d, err := event.Decode[event.QuestionAskedData](asked)
	if err != nil {
		return event.QuestionAnsweredData{}, err
	}
	answer, fresh := r.answers.await(d.ID)
	if !fresh {
		return event.QuestionAnsweredData{}, failure.New(failure.PluginInvalid, "question %s is already open: a call was asked about twice", d.ID)
	}
	defer r.answers.remove(d.ID)
	if err := r.record(ctx, asked); err != nil {
		return event.QuestionAnsweredData{}, err
	}
	due, stop := dueTime(d)
	defer stop()
	for {
		select {
		case a := <-answer:
			return a, nil
		case <-due:
			r.expire(ctx, d)
			due = nil
		case <-r.closed:
			return event.QuestionAnsweredData{}, failure.New(failure.SignalInterrupt, "the run has ended")
		case <-ctx.Done():
			return event.QuestionAnsweredData{}, context.Cause(ctx)
		}
	}
}

// dueTime returns a channel that fires at the question's deadline, nil if it has none.
func dueTime(d event.QuestionAskedData) (due <-chan time.Time, stop func()) {
	if d.Due == nil {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(*d.Due))
	return t.C, func() { t.Stop() }
}

// expire answers a question that the user has not answered. An answer committed before wins, and this one is then
// refused; any other error means that the run is about to end.
func (r *runner) expire(ctx context.Context, d event.QuestionAskedData) {
	_ = r.record(ctx, event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{
		ID: d.ID, Answer: event.AnswerReject, Digest: d.Digest, Expired: true,
	}))
}

// await registers a waiter and returns the channel for its answer, false if the question has a waiter already.
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
