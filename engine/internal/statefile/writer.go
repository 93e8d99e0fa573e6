package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

const (
	// smallFile is the size in bytes below which each iteration's event writes the file, while the kernel continues.
	smallFile = 256 << 10
	// interval is the delay after which a larger file is written, once for all events of that time. Thus an iteration
	// does not wait until the history of a thousand other iterations is written.
	interval = time.Second
	// pauses is the minimum delay of the next write, as a multiple of the duration of the last write. Thus a history of
	// a hundred thousand iterations is not written all the time.
	pauses = 20
)

// Writer keeps these files in step with a session's journal: state.json, the state files of providers in parallel
// blocks, questions, escalations, and the tool calls of steps. state.json is replaced atomically and not synced. It is
// written at every transition and stop, and for the events of iterations while the file is small, see [Writer.Sync]. A
// larger file is written a second after such an event, or later if writes take long. The methods of a Writer are safe
// for concurrent use.
type Writer struct {
	dir  *store.Dir
	plan *plan.Plan

	mu        sync.Mutex // guards:
	history   history
	questions questions
	calls     calls
	latest    state.State
	at        time.Time     // of the newest event
	size      int           // of the file as last written, bytes
	took      time.Duration // duration of the last write
	later     *time.Timer
	failed    error // of a delayed write
}

// New returns the writer of a session that follows a plan, before its first event. It writes nothing yet.
func New(dir *store.Dir, p *plan.Plan) *Writer {
	return &Writer{dir: dir, plan: p}
}

// Replay applies the next event that the journal already had, and the state after it. It writes nothing.
func (w *Writer) Replay(e event.Event, st state.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.observe(e, st) // an unreadable imported history is left out
	w.calls.observe(w.plan, e)
}

// Update applies an event and the state after it, which the writer keeps and callers must not change. An error means
// that the file is older than the state; the session can continue.
func (w *Writer) Update(e event.Event, st state.State) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = st
	err := w.branches().writeFor(e)
	return errors.Join(err, w.follow(e), w.questions.write(w.dir, w.plan, st, w.at), w.calls.add(w.dir, w.plan, e))
}

func (w *Writer) follow(e event.Event) error {
	if err := w.observe(e, w.latest); err != nil {
		return err
	}
	switch worth[e.Type] {
	case atOnce:
		return w.write()
	case soon:
		if w.later == nil {
			w.later = time.AfterFunc(w.delay(), w.catchUp)
		}
	case never:
	}
	return w.popFailure()
}

// branches returns the writer of the providers' files for the latest state.
func (w *Writer) branches() branches { return branches{w.dir, w.plan, w.latest} }

// delay returns how long a delayed write waits.
func (w *Writer) delay() time.Duration {
	if w.size < smallFile {
		return 0
	}
	return max(interval, pauses*w.took)
}

// Sync performs a delayed write now if the file is small, so that later readers find it up to date.
func (w *Writer) Sync() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.later != nil && w.size < smallFile {
		w.failed = w.write()
	}
}

// Flush writes the files for a state in which nothing runs.
func (w *Writer) Flush(st state.State) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = st
	return errors.Join(w.write(), w.branches().writeAll(), w.questions.write(w.dir, w.plan, st, w.at), w.calls.flush(w.dir))
}

// catchUp performs a delayed write, unless another write came first.
func (w *Writer) catchUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.later == nil {
		return
	}
	w.failed = w.write()
}

// popFailure returns the error of a delayed write, once.
func (w *Writer) popFailure() error {
	err := w.failed
	w.failed = nil
	return err
}

// observe adds an event, with the state after it, to the history and the questions.
func (w *Writer) observe(e event.Event, st state.State) error {
	w.at = e.Time
	w.questions.observe(w.plan, e, st)
	added, restarts, err := entries(w.dir, w.plan, e)
	if restarts {
		w.history = history{}
	}
	for _, it := range added {
		err = errors.Join(err, w.history.add(it))
	}
	return err
}

func (w *Writer) write() error {
	if w.later != nil {
		w.later.Stop()
		w.later = nil
	}
	w.failed = nil
	if w.latest.Session == "" {
		return nil // the run has not begun
	}
	before, after, err := w.render()
	if err != nil {
		return fmt.Errorf("render %s: %w", store.StateFile, err)
	}
	failpoint.Point("view.state.before-write")
	w.size = len(before) + w.history.text.Len() + len(after)
	began := time.Now()
	defer func() { w.took = time.Since(began) }()
	return w.dir.ReplaceWith(store.StateFile, func(to io.Writer) error {
		_, err := io.Copy(to, io.MultiReader(bytes.NewReader(before), bytes.NewReader(w.history.text.Bytes()), bytes.NewReader(after)))
		return err
	})
}

// render returns the document's text before and after the entries of the history.
func (w *Writer) render() (before, after []byte, err error) {
	front, back := build(w.plan, w.latest, w.history.count)
	if before, err = render(front, ""); err != nil {
		return nil, nil, err
	}
	if after, err = render(back, ""); err != nil {
		return nil, nil, err
	}
	closing := "],"
	if w.history.count > 0 {
		closing = "\n  ],"
	}
	before = append(bytes.TrimSuffix(before, []byte("\n}")), ",\n  \"history\": ["...)
	after = slices.Concat([]byte(closing), bytes.TrimPrefix(after, []byte{'{'}), []byte{'\n'})
	return before, after, nil
}
