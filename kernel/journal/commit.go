package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// lockWait is how long a commit waits for the file's lock. Others hold it for one write each, so
	// whoever has it longer hangs.
	lockWait = 10 * time.Second
	// slowCommit is worth a warning (REQUIREMENTS U223).
	slowCommit = 100 * time.Millisecond
)

// commit writes the queue, tells those who wait, and returns the error that ended the journal, be it
// now or earlier. writing is held.
func (j *Journal) commit() error {
	batch := j.takeQueue()
	begun := time.Now()
	err := j.failure()
	if err == nil && len(batch) > 0 {
		if err = j.write(batch); err != nil {
			err = j.fail(err)
		}
	}
	if took := time.Since(begun); took > slowCommit {
		j.log.Warn("slow write of the journal", "duration_ms", took.Milliseconds())
	}
	for _, e := range batch {
		e.done <- err
	}
	return err
}

// write appends a batch under the file's lock, behind whatever others have appended meanwhile.
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

// checkEpoch lets the batch be written unless a later epoch has begun. Events that somebody else appended
// in this one push the batch's numbers up.
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

// appendBatch appends entries that are stamped to follow the scanner and moves that behind them. The file's
// lock is held.
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
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.Flushed += int64(events)
	j.stats.Commits++
	return nil
}

// lockFile takes the lock that all appenders share, the Bash engine among them.
func (j *Journal) lockFile(ctx context.Context) (unlock func(), err error) {
	if err := store.Flock(ctx, j.lock); err != nil {
		return nil, failure.New(failure.StateCorrupt, "lock journal %s: %w", j.path, err).
			WithHint("another process holds the lock and does not go on; find it with fuser %s.lock", j.path)
	}
	return func() { _ = store.Unflock(j.lock) }, nil
}

// catchUp returns what others appended since the scanner's place. The file's lock is held.
func (j *Journal) catchUp() ([]event.Event, error) {
	var events []event.Event
	err := j.catchUpWith(func(e event.Event) { events = append(events, e) })
	return events, err
}

// catchUpWith hands what others appended since the scanner's place to each. The file's lock is held.
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

// checkPath fails unless others find the open file at its path, as whoever resumes the session will: a directory that was
// renamed takes its files along.
func (j *Journal) checkPath(info fs.FileInfo) error {
	there, err := os.Stat(j.path)
	switch {
	case err == nil && os.SameFile(info, there):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return j.diskError(err)
	}
	if err := j.dir.Intact(); err != nil {
		return err
	}
	return damagedError(j.path, "it was removed or replaced while in use")
}

func damagedError(path, why string) error {
	return failure.New(failure.StateCorrupt, "journal %s: %s", path, why).
		WithHint("something other than the engine changed it; resume the session to go on from what is left")
}
