package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// disk is the journal's file, opened for appending. Tests replace it by a file that fails.
type disk interface {
	io.ReaderAt
	io.WriteCloser
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error // the data and the length, not the times
}

// file is a disk on an [os.File].
type file struct{ *os.File }

func (f file) Write(text []byte) (int, error) {
	failpoint.BeforeWrite(f.Name())
	return f.File.Write(text)
}

func (f file) Sync() error {
	err := datasync(f.File)
	failpoint.AfterSync(f.Name())
	return err
}

// retryPauses are the pauses between attempts to write: long enough for a brief failure, short enough for an
// interactive user.
var retryPauses = [...]time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond}

func writeOnce(f disk, text []byte, durable bool) error {
	failpoint.Point("journal.append.before-write")
	if _, err := f.Write(text); err != nil {
		return err
	}
	failpoint.Point("journal.append.after-write")
	if !durable {
		return nil
	}
	if err := f.Sync(); err != nil {
		return err
	}
	failpoint.Point("journal.append.after-sync")
	return nil
}

// eventsFile is the open file of a journal. One goroutine at a time may use it; dir, path and log never change.
type eventsFile struct {
	dir    *store.Dir
	path   string
	log    hclog.Logger
	disk   disk
	lock   *os.File
	scan   scanner // reads the file, and keeps the position and the report
	synced Head    // the last head whose line this process has synced
}

// entry holds the events of one append, which stay together.
type entry struct {
	events  []event.Event
	text    []byte
	above   string // digest of the last line of text
	durable bool
	done    chan error // buffered; gets the result of the commit
}

// stampAll stamps the events of an entry in order and renders them.
func (s *stamp) stampAll(dir *store.Dir, entry *entry) error {
	now := time.Now().UTC().Round(0)
	entry.text = nil
	for i := range entry.events {
		e := &entry.events[i]
		s.seq++
		if e.Time = now; now.Before(s.at) {
			e.Time = s.at // the clock may go back, the times of a journal must not
		}
		s.at = e.Time
		e.Session, e.Seq, e.RunID, e.Epoch, e.Prev = dir.Session(), s.seq, s.runID, s.epoch, s.above
		from := len(entry.text)
		var err error
		if entry.text, err = render(entry.text, *e, dir); err != nil {
			return failure.New(failure.Internal, "journal of session %q: %w", e.Session, err).
				WithHint("put large data into a file, and let the event refer to it")
		}
		s.above = chainDigest("", entry.text[from:len(entry.text)-1])
	}
	entry.above = s.above
	return nil
}

// render appends the event's line. It adds to the data the absolute path that readers of the Bash engine's
// journals expect; no fold reads it.
func render(dst []byte, e event.Event, dir *store.Dir) ([]byte, error) {
	if e.Type == event.IterationComplete || e.Type == event.WorkerComplete {
		e.Data = withResultFile(e.Data, dir)
	}
	return e.AppendLine(dst)
}

// withResultFile returns the data with result_file as its first member, as in the Bash engine. Its value is the
// absolute path of result.
func withResultFile(data json.RawMessage, dir *store.Dir) json.RawMessage {
	var known struct {
		ResultFile json.RawMessage `json:"result_file"`
		Result     event.Ref       `json:"result"`
	}
	if json.Unmarshal(data, &known) != nil || len(known.ResultFile) > 0 || known.Result.Path == "" {
		return data
	}
	path, _ := json.Marshal(dir.Abs(known.Result.Path)) // a text always marshals
	_, members, _ := bytes.Cut(data, []byte{'{'})
	return slices.Concat([]byte(`{"result_file":`), path, []byte{','}, members)
}

// lockForAppend takes the lock shared by all appenders, including the Bash engine.
func (f *eventsFile) lockForAppend(ctx context.Context) (unlock func(), err error) {
	if err := store.Flock(ctx, f.lock); err != nil {
		return nil, failure.New(failure.StateCorrupt, "lock journal %s: %w", f.path, err).
			WithHint("another process holds the lock and hangs; find it with `fuser %s.lock`", f.path)
	}
	return func() { _ = store.Unflock(f.lock) }, nil
}

// load reads the file under its lock, so that no line is half written.
func (f *eventsFile) load(ctx context.Context, each func(event.Event)) (Summary, error) {
	unlock, err := f.lockForAppend(ctx)
	if err != nil {
		return Summary{}, err
	}
	defer unlock()
	var log Summary
	err = f.catchUpWith(func(e event.Event) {
		log.Count, log.Last = log.Count+1, e
		each(e)
	})
	log.Report, log.Chain = f.scan.report, f.scan.chain.result()
	if f.scan.chain.head == nil && !log.Chain.ByCopy {
		f.scan.chain.end.From = f.scan.seq // other programs may have added lines before
	}
	return log, err
}

// catchUp returns the events appended by others since the scanner's offset, and whether the last line is another one.
// The caller holds the file's lock.
func (f *eventsFile) catchUp() (events []event.Event, changed bool, err error) {
	above := f.scan.above
	err = f.catchUpWith(func(e event.Event) { events = append(events, e) })
	return events, f.scan.above != above, err
}

// catchUpWith calls each with the events appended by others since the scanner's offset. The caller holds the
// file's lock.
func (f *eventsFile) catchUpWith(each func(event.Event)) error {
	info, err := f.disk.Stat()
	if err != nil {
		return f.diskError(err)
	}
	if err := f.checkPath(info); err != nil {
		return err
	}
	size := info.Size()
	if size < f.scan.offset {
		return damagedError(f.path, fmt.Sprintf("it shrank from %d to %d bytes while in use", f.scan.offset, size))
	}
	if size == f.scan.offset {
		return nil
	}
	err = f.scan.read(io.NewSectionReader(f.disk, f.scan.offset, size-f.scan.offset), func(e event.Event) bool {
		each(e)
		return true
	})
	if err != nil {
		return readError(f.path, err)
	}
	return nil
}

// checkPath returns an error unless the open file is still at its path, where the next resume reads it. An open file
// moves with its renamed directory.
func (f *eventsFile) checkPath(info fs.FileInfo) error {
	current, err := os.Stat(f.path)
	switch {
	case err == nil && os.SameFile(info, current):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return f.diskError(err)
	}
	if err := f.dir.CheckIntact(); err != nil {
		return err
	}
	return damagedError(f.path, "it was removed or replaced while in use")
}

// appendBatch appends entries whose stamps follow the scanner's last event, and advances the scanner. The caller holds
// the file's lock.
func (f *eventsFile) appendBatch(batch []*entry, durable bool) error {
	info, err := f.disk.Stat()
	if err != nil {
		return f.diskError(err)
	}
	size := info.Size()
	var text []byte
	if f.scan.unterminated || size > f.scan.offset {
		text = append(text, '\n') // ends a torn last line, which a crash cut off
	}
	events := 0
	for _, e := range batch {
		text = append(text, e.text...)
		events += len(e.events)
	}
	if err := f.writeDurably(size, text, durable); err != nil {
		return err
	}
	last := batch[len(batch)-1]
	end := last.events[len(last.events)-1]
	f.scan.offset, f.scan.unterminated = size+int64(len(text)), false
	f.scan.seq, f.scan.epoch, f.scan.runID, f.scan.at = end.Seq, end.Epoch, end.RunID, end.Time
	f.scan.above = last.above
	head := &f.scan.chain.end
	head.Seq, head.Digest, head.Run = end.Seq, last.above, end.RunID
	if f.scan.chain.torn = false; durable {
		f.synced = f.scan.chain.end
	}
	f.scan.line += events
	if text[0] == '\n' {
		f.scan.line++
	}
	return nil
}

// writeDurably appends text after the first size bytes and, if durable, waits until it is on the disk. After a
// failure the text is cut off and written again, because a failed sync leaves the state of the page cache unknown.
func (f *eventsFile) writeDurably(size int64, text []byte, durable bool) error {
	for attempt := 0; ; attempt++ {
		err := writeOnce(f.disk, text, durable)
		if err == nil {
			return nil
		}
		if cut := f.disk.Truncate(size); cut != nil {
			err = errors.Join(err, cut)
		}
		f.log.Warn("cannot write journal", "attempt", attempt+1, "error", err)
		if attempt == len(retryPauses) {
			return f.diskError(err)
		}
		timer := time.NewTimer(retryPauses[attempt])
		<-timer.C
	}
}

func (f *eventsFile) diskError(err error) error {
	hint := "check the disk, then resume the session"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		hint = "free some space, then resume the session"
	}
	return failure.New(failure.StateCorrupt, "write journal %s: %w", f.path, err).WithHint("%s", hint)
}
