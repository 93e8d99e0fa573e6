package journal

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The defaults of [Options] (REQUIREMENTS U223).
const (
	DefaultFlushInterval = time.Second
	DefaultBuffer        = 100
)

var (
	// ErrFenced means that another kernel has resumed the session; the fenced kernel must stop and no longer writes.
	ErrFenced = errors.New("another kernel owns the session now")
	// ErrClosed means that the journal was closed.
	ErrClosed = errors.New("the journal is closed")
)

// Options configures a [Journal]. The zero value is usable.
type Options struct {
	// Logger gets problems of the disk and the file. Default: none.
	Logger hclog.Logger
	// FlushInterval is the longest time before an informative event is written. Default one second.
	FlushInterval time.Duration
	// Buffer is the number of events that may wait; an append beyond it blocks. Default 100.
	Buffer int
	// Redact removes the secrets from an event before it is written or applied. It must be safe for concurrent
	// use. Default: none.
	Redact func(event.Event) event.Event
	// Head is the head of the journal that was kept last, nil for none. Open compares the journal with it.
	Head *Head
	// Copy is a head at rest that came with the session, signed with a key that the user trusts; nil for none.
	// Lines up to it count as honest, as long as no line follows.
	Copy *Head
	// KeepHead keeps a head outside of the session, on the disk when it returns. It is called before the first line of this
	// process, at most once a second while lines follow, and by Close. Calls are not concurrent. Default: no head is kept.
	KeepHead func(Head) error
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.FlushInterval <= 0 {
		o.FlushInterval = DefaultFlushInterval
	}
	if o.Buffer <= 0 {
		o.Buffer = DefaultBuffer
	}
	return o
}

// Journal appends to a session's journal. It is safe for concurrent use. A failure of the disk or a later
// epoch in the file ends it: all later appends fail with the same error.
type Journal struct {
	opts Options

	commitNow  chan struct{} // requests a commit that the current writer may have missed
	commitSoon chan struct{} // requests a commit within the flush interval
	quit       chan struct{}
	wg         sync.WaitGroup

	writing  sync.Mutex // held while committing; locked before mu; guards file
	file     eventsFile
	headOpen bool // a head that is not at rest was kept, or cannot be kept; guarded by writing

	mu      sync.Mutex // guards the fields below
	queue   []*entry
	waiting int           // events in queue
	space   chan struct{} // closed and replaced when the queue is emptied
	last    stamp
	failed  error
	closed  bool
}

// Open reads a session's journal, calls each with its live events in order, as [Read] does, and makes the file if
// there is none. It begins no epoch: [Journal.Begin], [Journal.Import] and [Journal.Start] do. An append without a
// new epoch continues the epoch in the file, for a single event in a session that no kernel holds. The caller closes
// the journal before the directory.
func Open(ctx context.Context, dir *store.Dir, o Options, each func(event.Event)) (*Journal, Summary, error) {
	o = o.withDefaults()
	j := &Journal{
		opts: o, file: eventsFile{dir: dir, path: dir.Abs(store.EventsFile), log: o.Logger.Named("journal").With("session", dir.Session())},
		commitNow: make(chan struct{}, 1), commitSoon: make(chan struct{}, 1), quit: make(chan struct{}), space: make(chan struct{}),
	}
	j.file.scan = newChainScanner(dir.Session(), o.Head, o.Copy)
	f, err := dir.OpenFile(store.EventsFile, os.O_CREATE|os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, Summary{}, err
	}
	j.file.disk = file{f}
	if j.file.lock, err = dir.OpenFile(store.EventsLock, os.O_CREATE|os.O_RDWR); err != nil {
		return nil, Summary{}, errors.Join(err, f.Close())
	}
	log, err := j.file.load(ctx, each)
	if err == nil {
		err = dir.SyncTree(".") // else a crash could lose the directory entry of the file, and lines already synced with it
	}
	if err != nil {
		return nil, log, errors.Join(err, f.Close(), j.file.lock.Close())
	}
	j.last = j.file.scan.stamp
	j.wg.Go(j.run)
	if o.KeepHead != nil {
		j.wg.Go(j.keepHeads)
	}
	return j, log, nil
}

// Append adds events in one piece: all of them are in the file, one after the other, or none. It returns them as
// written, with session, time, sequence number, run and epoch. If one of them changes state, all are on the disk when
// it returns. If all are informative, they are written within the flush interval, and get other numbers if another
// process appends before.
//
// ctx ends the wait for space in the buffer. After that Append waits for the disk whatever ctx says, so that the
// result is certain. Errors: the cause of ctx; [ErrFenced]; [ErrClosed]; kind internal for an event that is too long
// (nothing is written, the journal stays usable); kind state_corrupt for a permanent failure of the disk.
func (j *Journal) Append(ctx context.Context, events ...event.Event) ([]event.Event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	e, err := j.enqueue(ctx, j.redact(events))
	if err != nil {
		return nil, err
	}
	if !e.durable {
		return e.events, nil
	}
	if err := j.awaitCommit(e); err != nil {
		return nil, err
	}
	return e.events, nil
}

// Sync waits until all accepted events are on the disk.
func (j *Journal) Sync() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.commit(); err != nil {
		return err
	}
	if err := j.file.disk.Sync(); err != nil {
		return j.fail(j.file.diskError(err))
	}
	return nil
}

// Close writes the queued events, ends the journal and returns the error that ended it earlier, if any. A
// second call returns the same.
func (j *Journal) Close() error {
	j.mu.Lock()
	first := !j.closed
	j.closed = true
	j.mu.Unlock()
	if first {
		close(j.quit)
		j.wg.Wait()
		_ = j.Sync() // the error is kept
		j.writing.Lock()
		j.restHead()
		_ = j.file.disk.Close()
		_ = j.file.lock.Close()
		j.writing.Unlock()
	}
	return j.failure()
}

// run commits on request, and one flush interval after the first informative event in an empty queue.
func (j *Journal) run() {
	flush := time.NewTimer(j.opts.FlushInterval) // the first tick may find an empty queue, which costs nothing
	defer flush.Stop()
	for {
		select {
		case <-j.quit:
			return
		case <-j.commitSoon:
			flush.Reset(j.opts.FlushInterval)
			continue
		case <-j.commitNow:
		case <-flush.C:
		}
		j.writing.Lock()
		_ = j.commit() // the waiting appenders get the error, and it is kept
		j.writing.Unlock()
	}
}

// fail ends the journal with its first error and returns that error.
func (j *Journal) fail(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil {
		j.failed = err
		j.file.log.Error("journal ended", "error", err)
	}
	return j.failed
}

// failure returns the error that ended the journal, nil while it is usable.
func (j *Journal) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// fencedError returns the error of a kernel that another kernel has replaced.
func (j *Journal) fencedError(theirs, ours int) error {
	return failure.New(failure.LockContention, "session %q: %w (epoch %d began after %d)", j.file.dir.Session(), ErrFenced, theirs, ours).
		WithHint("the other kernel continues; watch it with `%s`", failure.Next("status", j.file.dir.Session()))
}

const (
	// lockWait is how long a commit waits for the file's lock. Other processes hold it for one write, so a
	// longer wait means a hang.
	lockWait = 10 * time.Second
	// slowCommit is the duration from which a commit is logged as a warning (REQUIREMENTS U223).
	slowCommit = 100 * time.Millisecond
	// headInterval is the pause between two heads of a journal that grows.
	headInterval = time.Second
)

// wake sends a signal unless one is already pending.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
