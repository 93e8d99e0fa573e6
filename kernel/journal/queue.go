package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// stampAll stamps the events of one append in order and renders them.
func (j *Journal) stampAll(s *stamp, events []event.Event) (text []byte, err error) {
	now := time.Now().UTC().Round(0)
	for i := range events {
		e := &events[i]
		s.seq++
		if e.Time = now; now.Before(s.at) {
			e.Time = s.at // clocks go backwards, journals do not
		}
		s.at = e.Time
		e.Session, e.Seq, e.RunID, e.Epoch = j.dir.Session(), s.seq, s.runID, s.epoch
		if text, err = j.render(text, *e); err != nil {
			return nil, failure.New(failure.Internal, "journal of session %q: %w", e.Session, err).
				WithHint("put large data into a file, and let the event refer to it")
		}
	}
	return text, nil
}

// redact returns a copy of the events without secrets.
func (j *Journal) redact(events []event.Event) []event.Event {
	clean := slices.Clone(events)
	if j.opts.Redact != nil {
		for i := range clean {
			clean[i] = j.opts.Redact(clean[i])
		}
	}
	return clean
}

// enqueue waits for space, then stamps events and adds them to the queue.
func (j *Journal) enqueue(ctx context.Context, events []event.Event) (*entry, error) {
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("append to journal: %w", context.Cause(ctx))
		}
		e, space, err := j.tryEnqueue(events)
		if e != nil || err != nil {
			return e, err
		}
		wake(j.commitNow)
		select {
		case <-space:
		case <-ctx.Done():
		}
	}
}

// tryEnqueue adds events to the queue, or returns the channel to wait on if there is no space.
func (j *Journal) tryEnqueue(events []event.Event) (*entry, <-chan struct{}, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failed != nil:
		return nil, nil, j.failed
	case j.closed:
		return nil, nil, fmt.Errorf("append to journal: %w", ErrClosed)
	case j.waiting >= j.opts.Buffer:
		return nil, j.space, nil
	}
	next := j.last
	e := &entry{events: slices.Clone(events), done: make(chan error, 1)}
	var err error
	if e.text, err = j.stampAll(&next, e.events); err != nil {
		return nil, nil, err
	}
	e.durable = slices.ContainsFunc(events, func(e event.Event) bool { return !e.Informative() }) && !failpoint.Defect(failpoint.SkipCommit)
	j.last = next
	j.queue = append(j.queue, e)
	j.waiting += len(events)
	if e.durable {
		return e, nil, nil
	}
	if len(j.queue) == 1 {
		wake(j.commitSoon)
	}
	reply := *e
	reply.events = slices.Clone(e.events) // a commit may stamp its own again while the caller reads these
	return &reply, nil, nil
}

// awaitCommit returns when a durable entry is on the disk. If no commit is running, the caller commits itself
// and avoids a goroutine switch.
func (j *Journal) awaitCommit(e *entry) error {
	if j.writing.TryLock() {
		_ = j.commit() // the entry gets the error
		j.writing.Unlock()
	} else {
		wake(j.commitNow)
	}
	return <-e.done
}

// drainQueue empties the queue and wakes the appenders that wait for space.
func (j *Journal) drainQueue() []*entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	batch := j.queue
	j.queue, j.waiting = nil, 0
	close(j.space)
	j.space = make(chan struct{})
	return batch
}

// restamp renumbers the events of batch and of the queue to follow the file. The caller holds mu.
func (j *Journal) restamp(batch []*entry, s stamp) error {
	for _, e := range slices.Concat(batch, j.queue) {
		var err error
		if e.text, err = j.stampAll(&s, e.events); err != nil {
			return err
		}
	}
	j.last = s
	return nil
}
