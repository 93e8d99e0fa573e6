package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// pollInterval is the pause between two reads of Follow.
const pollInterval = 100 * time.Millisecond

// Follow yields the events with numbers above from, the existing events and then new events, each once and in order.
// It ends when ctx ends, or with an error: the session's directory is gone, or a newer version writes the journal. It
// waits for a missing journal. A journal that was cut or replaced is read again from its beginning.
func Follow(ctx context.Context, dir *store.Dir, from int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		f := follower{dir: dir}
		defer f.close()
		timer := time.NewTimer(pollInterval)
		defer timer.Stop()
		for {
			ended := false
			err := f.readNew(func(e event.Event) bool {
				if e.Seq <= from {
					return true
				}
				from = e.Seq
				ended = !yield(e, nil)
				return !ended
			})
			if ended {
				return
			}
			if err != nil {
				yield(event.Event{}, fmt.Errorf("follow journal %s: %w", dir.Abs(store.EventsFile), err))
				return
			}
			timer.Reset(pollInterval)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
	}
}

// follower is the position of one [Follow] in a journal.
type follower struct {
	dir  *store.Dir
	file *os.File
	scan scanner
}

func (f *follower) close() {
	if f.file != nil {
		_ = f.file.Close()
	}
}

// readNew yields the events appended since the last call.
func (f *follower) readNew(yield func(event.Event) bool) error {
	current, err := f.dir.Stat(store.EventsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return f.dir.CheckIntact()
	}
	if err != nil {
		return err
	}
	if f.file != nil {
		ours, err := f.file.Stat()
		if err != nil {
			return err
		}
		if !os.SameFile(ours, current) || current.Size() < f.scan.offset {
			f.close()
			f.file, f.scan = nil, scanner{}
		}
	}
	if f.file == nil {
		if f.file, err = f.dir.OpenFile(store.EventsFile, os.O_RDONLY); err != nil {
			f.file = nil
			return err
		}
	}
	if current.Size() <= f.scan.offset {
		return nil
	}
	return f.scan.read(io.NewSectionReader(f.file, f.scan.offset, current.Size()-f.scan.offset), yield)
}
