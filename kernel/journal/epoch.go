package journal

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Begin starts a new run: it appends session_start and kernel_start in one piece, in a new epoch, and returns
// these two. Events that others appended before them belong to the previous run.
func (j *Journal) Begin(ctx context.Context, runID string, session event.SessionStartData, kernel event.KernelStartData) ([]event.Event, error) {
	return j.beginRun(ctx, runID, event.New(event.SessionStart, &event.Cursor{NodePath: "0"}, "", session), kernel)
}

// Import continues a session from a state built from its files: it appends session_imported and kernel_start as
// Begin does.
func (j *Journal) Import(ctx context.Context, runID string, d event.SessionImportedData, kernel event.KernelStartData) ([]event.Event, error) {
	return j.beginRun(ctx, runID, event.New(event.SessionImported, nil, "", d), kernel)
}

func (j *Journal) beginRun(ctx context.Context, runID string, first event.Event, kernel event.KernelStartData) ([]event.Event, error) {
	appended, err := j.beginEpoch(ctx, runID, first, event.New(event.KernelStart, nil, "", kernel))
	if err != nil {
		return nil, err
	}
	return appended[len(appended)-2:], nil
}

// Start begins an epoch for a kernel that continues the session's run: it appends kernel_start in a new epoch, which
// ends the journals of all earlier kernels. Epochs are unique. The result holds the events appended by others since
// the journal was read, which the caller has not applied yet, and then the new event.
func (j *Journal) Start(ctx context.Context, kernel event.KernelStartData) ([]event.Event, error) {
	return j.beginEpoch(ctx, "", event.New(event.KernelStart, nil, "", kernel))
}

// CheckEpoch ends the journal with an [ErrFenced] error if another kernel has resumed the session; appends check
// this themselves. It also returns an earlier error that ended the journal.
func (j *Journal) CheckEpoch(ctx context.Context) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.commit(); err != nil {
		return err
	}
	if j.isClosed() {
		return fmt.Errorf("check journal: %w", ErrClosed)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := j.file.lockForAppend(ctx)
	if err != nil {
		return nil // nothing is known; an append reports the error
	}
	defer unlock()
	_, changed, err := j.file.catchUp()
	if err == nil {
		err = j.checkEpoch(nil, changed)
	}
	if err != nil {
		return j.fail(err)
	}
	return nil
}

// beginEpoch appends events in the epoch after the last one of the file. An empty runID keeps the run.
func (j *Journal) beginEpoch(ctx context.Context, runID string, events ...event.Event) ([]event.Event, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("begin an epoch: %w", context.Cause(ctx))
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.commit(); err != nil {
		return nil, err
	}
	if j.isClosed() {
		return nil, fmt.Errorf("begin an epoch: %w", ErrClosed)
	}
	unlock, err := j.file.lockForAppend(ctx)
	if err != nil {
		return nil, err // nothing was written; the caller may try again
	}
	defer unlock()
	foreign, _, err := j.file.catchUp()
	if err == nil {
		err = j.openHead()
	}
	if err != nil {
		return nil, j.fail(err)
	}
	e := &entry{events: j.redact(events), durable: true}
	if err := j.stampEpoch(e, runID); err != nil {
		return nil, err
	}
	if err := j.file.appendBatch([]*entry{e}, true); err != nil {
		return nil, j.fail(err)
	}
	return append(foreign, e.events...), nil
}

// stampEpoch stamps e as the beginning of the next epoch and renumbers the queue behind it.
func (j *Journal) stampEpoch(e *entry, runID string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.file.scan.stamp
	s.epoch++
	if runID != "" {
		s.runID = runID
	}
	return j.restamp([]*entry{e}, s)
}

func (j *Journal) isClosed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closed
}
