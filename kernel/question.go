package kernel

import (
	"context"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// answers are the effects that wait for a person, by the id of their question. It is safe for concurrent use.
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
		return event.QuestionAnsweredData{}, failure.New(failure.PluginInvalid, "question %s is open already: the same call was asked about twice", d.ID)
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

// dueTime fires when the question is to be answered at the latest, never if it has no such time.
func dueTime(d event.QuestionAskedData) (due <-chan time.Time, stop func()) {
	if d.Due == nil {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(*d.Due))
	return t.C, func() { t.Stop() }
}

// expire answers a question that nobody has answered. An answer that was committed before is the one that counts,
// and this one then does not fit; without either the run is about to end.
func (r *runner) expire(ctx context.Context, d event.QuestionAskedData) {
	_ = r.record(ctx, event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{
		ID: d.ID, Answer: event.AnswerReject, Digest: d.Digest, Expired: true,
	}))
}

// await is where the answer to a question will come; false if somebody waits for it already.
func (a *answerWaiters) await(id string) (<-chan event.QuestionAnsweredData, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, waits := a.waiting[id]; waits {
		return nil, false
	}
	if a.waiting == nil {
		a.waiting = map[string]chan<- event.QuestionAnsweredData{}
	}
	c := make(chan event.QuestionAnsweredData, 1)
	a.waiting[id] = c
	return c, true
}

func (a *answerWaiters) remove(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// deliver hands an answer that was committed to whoever waits for it.
func (a *answerWaiters) deliver(e event.Event) {
	if e.Type != event.QuestionAnswered {
		return
	}
	d, err := event.Decode[event.QuestionAnsweredData](e)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, waits := a.waiting[d.ID]; waits {
		c <- d // once: the question is not open any more
		delete(a.waiting, d.ID)
	}
}
