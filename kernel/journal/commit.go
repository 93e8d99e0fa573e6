package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
)

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
	if err := next.stampAll(j.file.dir, e); err != nil {
		return nil, nil, err
	}
	e.durable = slices.ContainsFunc(events, func(e event.Event) bool { return !e.Informative() }) && !failpoint.HasDefect(failpoint.SkipCommit)
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
	reply.events = slices.Clone(e.events) // a commit may stamp e.events again while the caller reads the copy
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

// restamp renumbers the events of batch and of the queue to follow s. The caller holds mu.
func (j *Journal) restamp(batch []*entry, s stamp) error {
	for _, e := range slices.Concat(batch, j.queue) {
		if err := s.stampAll(j.file.dir, e); err != nil {
			return err
		}
	}
	j.last = s
	return nil
}

// commit writes the queue, notifies the waiting appenders, and returns the error that ended the journal, now
// or earlier. The caller holds writing.
func (j *Journal) commit() error {
	batch := j.drainQueue()
	begun := time.Now()
	err := j.failure()
	if err == nil && len(batch) > 0 {
		if err = j.write(batch); err != nil {
			err = j.fail(err)
		}
	}
	if took := time.Since(begun); took > slowCommit {
		j.file.log.Warn("slow journal write", "duration_ms", took.Milliseconds())
	}
	for _, e := range batch {
		e.done <- err
	}
	return err
}

// write appends a batch under the file's lock, after the events that other processes have appended meanwhile.
func (j *Journal) write(batch []*entry) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := j.file.lockForAppend(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, changed, err := j.file.catchUp()
	if err != nil {
		return err
	}
	if err := j.checkEpoch(batch, changed); err != nil {
		return err
	}
	if err := j.openHead(); err != nil {
		return err
	}
	durable := slices.ContainsFunc(batch, func(e *entry) bool { return e.durable })
	return j.file.appendBatch(batch, durable)
}

// checkEpoch returns an error if a later epoch has begun. If other processes appended lines, it renumbers the batch and
// the queue.
func (j *Journal) checkEpoch(batch []*entry, changed bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file.scan.epoch > j.last.epoch {
		return j.fencedError(j.file.scan.epoch, j.last.epoch)
	}
	if !changed {
		return nil
	}
	j.file.log.Warn("another process appended to the journal")
	return j.restamp(batch, stamp{seq: j.file.scan.seq, epoch: j.last.epoch, runID: j.last.runID, at: j.file.scan.at, above: j.file.scan.above})
}
