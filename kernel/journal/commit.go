package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

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
		j.log.Warn("slow journal write", "duration_ms", took.Milliseconds())
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
	unlock, err := j.lockFile(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	foreign, err := j.catchUp()
	if err != nil {
		return err
	}
	if err := j.checkEpoch(batch, foreign); err != nil {
		return err
	}
	durable := slices.ContainsFunc(batch, func(e *entry) bool { return e.durable })
	return j.appendBatch(batch, durable)
}

// checkEpoch returns an error if a later epoch has begun. Foreign events of this epoch renumber the batch.
func (j *Journal) checkEpoch(batch []*entry, foreign []event.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.scan.epoch > j.last.epoch {
		return j.fencedError(j.scan.epoch, j.last.epoch)
	}
	if len(foreign) == 0 {
		return nil
	}
	j.log.Warn("another process appended to the journal", "events", len(foreign))
	return j.restamp(batch, stamp{seq: j.scan.seq, epoch: j.last.epoch, runID: j.last.runID, at: j.scan.at})
}

// appendBatch appends entries stamped to follow the scanner and advances the scanner. The caller holds the
// file's lock.
func (j *Journal) appendBatch(batch []*entry, durable bool) error {
	info, err := j.file.Stat()
	if err != nil {
		return j.diskError(err)
	}
	size := info.Size()
	var text []byte
	if j.scan.unterminated || size > j.scan.offset {
		text = append(text, '\n') // ends what a crash cut off, so that nothing glues to it
	}
	events := 0
	for _, e := range batch {
		text = append(text, e.text...)
		events += len(e.events)
	}
	if err := j.writeDurably(size, text, durable); err != nil {
		return err
	}
	last := batch[len(batch)-1]
	end := last.events[len(last.events)-1]
	j.scan.offset, j.scan.unterminated = size+int64(len(text)), false
	j.scan.seq, j.scan.epoch, j.scan.runID, j.scan.at = end.Seq, end.Epoch, end.RunID, end.Time
	j.scan.line += events
	if text[0] == '\n' {
		j.scan.line++
	}
	return nil
}

// lockFile takes the lock shared by all appenders, including the Bash engine.
func (j *Journal) lockFile(ctx context.Context) (unlock func(), err error) {
	if err := store.Flock(ctx, j.lock); err != nil {
		return nil, failure.New(failure.StateCorrupt, "lock journal %s: %w", j.path, err).
			WithHint("another process holds the lock and hangs; find it with `fuser %s.lock`", j.path)
	}
	return func() { _ = store.Unflock(j.lock) }, nil
}

// catchUp returns the events appended by others since the scanner's offset. The caller holds the file's lock.
func (j *Journal) catchUp() ([]event.Event, error) {
	var events []event.Event
	err := j.catchUpWith(func(e event.Event) { events = append(events, e) })
	return events, err
}

// catchUpWith calls each with the events appended by others since the scanner's offset. The caller holds the
// file's lock.
func (j *Journal) catchUpWith(each func(event.Event)) error {
	info, err := j.file.Stat()
	if err != nil {
		return j.diskError(err)
	}
	if err := j.checkPath(info); err != nil {
		return err
	}
	size := info.Size()
	if size < j.scan.offset {
		return damagedError(j.path, fmt.Sprintf("it shrank from %d to %d bytes while in use", j.scan.offset, size))
	}
	if size == j.scan.offset {
		return nil
	}
	err = j.scan.read(io.NewSectionReader(j.file, j.scan.offset, size-j.scan.offset), func(e event.Event) bool {
		each(e)
		return true
	})
	if err != nil {
		return readError(j.path, err)
	}
	return nil
}

// checkPath returns an error unless the open file is still at its path, where the next resume reads it. A
// renamed directory takes its files along.
func (j *Journal) checkPath(info fs.FileInfo) error {
	current, err := os.Stat(j.path)
	switch {
	case err == nil && os.SameFile(info, current):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return j.diskError(err)
	}
	if err := j.dir.CheckIntact(); err != nil {
		return err
	}
	return damagedError(j.path, "it was removed or replaced while in use")
}

// writeDurably appends text after the first size bytes and, if durable, waits until it is on the disk. A
// failed attempt is cut off and repeated with the write, because after a failed sync the state of the page
// cache is unknown.
func (j *Journal) writeDurably(size int64, text []byte, durable bool) error {
	for attempt := 0; ; attempt++ {
		err := writeOnce(j.file, text, durable)
		if err == nil {
			return nil
		}
		if cut := j.file.Truncate(size); cut != nil {
			err = errors.Join(err, cut)
		}
		j.log.Warn("cannot write journal", "attempt", attempt+1, "error", err)
		if attempt == len(retryPauses) {
			return j.diskError(err)
		}
		timer := time.NewTimer(retryPauses[attempt])
		<-timer.C
	}
}

func (j *Journal) diskError(err error) error {
	hint := "check the disk, then resume the session"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		hint = "free some space, then resume the session"
	}
	return failure.New(failure.StateCorrupt, "write journal %s: %w", j.path, err).WithHint("%s", hint)
}
