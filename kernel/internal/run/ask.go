package run

import (
	"context"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// answers are the effects that wait for a person, by the id of their question. It is safe for concurrent use.
type answers struct {
	mu      sync.Mutex // guards:
	waiting map[string]chan<- event.QuestionAnsweredData
}

// ask is Work.Ask.
func (r *runner) ask(ctx context.Context, asked event.Event) (event.QuestionAnsweredData, error) {
	d, err := event.Decode[event.QuestionAskedData](asked)
	if err != nil {
		return event.QuestionAnsweredData{}, err
	}
	answer := r.answers.await(d.ID)
	defer r.answers.forget(d.ID)
	if err := r.record(ctx, asked); err != nil {
		return event.QuestionAnsweredData{}, err
	}
	select {
	case a := <-answer:
		return a, nil
	case <-r.gone:
		return event.QuestionAnsweredData{}, failure.New(failure.SignalInterrupt, "the run has ended")
	case <-ctx.Done():
		return event.QuestionAnsweredData{}, context.Cause(ctx)
	}
}

func (a *answers) await(id string) <-chan event.QuestionAnsweredData {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[string]chan<- event.QuestionAnsweredData{}
	}
	c := make(chan event.QuestionAnsweredData, 1)
	a.waiting[id] = c
	return c
}

func (a *answers) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// deliver hands an answer that was committed to whoever waits for it.
func (a *answers) deliver(e event.Event) {
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
