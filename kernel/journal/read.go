package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Read reads a session's journal without its lock and calls each with its live events (not stale) in order. It keeps
// none of them, so that memory does not grow with the journal. An event of the Bash engine gets the number after that
// of the event before it. A line that is being written is a torn tail. A session without a journal has no events.
//
// The error is that of each, which ends the reading, or of the disk, or says that a newer version wrote the journal.
// The summary covers the events passed to each.
func Read(dir *store.Dir, each func(event.Event) error) (Summary, error) {
	return readWith(dir, &scanner{}, each)
}

// Verify reads a session's journal as [Read] does, and checks its chain against the heads of [Options], each nil for none.
// The result is in the summary. A nil each is called with nothing.
func Verify(dir *store.Dir, head, headCopy *Head, each func(event.Event) error) (Summary, error) {
	s := newChainScanner(dir.Session(), head, headCopy)
	if each == nil {
		each = func(event.Event) error { return nil }
	}
	log, err := readWith(dir, &s, each)
	log.Chain = s.chain.result()
	return log, err
}

// readWith reads a session's journal with a scanner.
func readWith(dir *store.Dir, s *scanner, each func(event.Event) error) (Summary, error) {
	f, err := openEvents(dir)
	if f == nil {
		return Summary{}, err
	}
	defer f.Close()
	var log Summary
	var refused error
	err = s.read(f, func(e event.Event) bool {
		log.Count, log.Last = log.Count+1, e
		refused = each(e)
		return refused == nil
	})
	if log.Report = s.report; refused != nil {
		return log, refused
	}
	if err != nil {
		err = readError(dir.Abs(store.EventsFile), err)
	}
	return log, err
}

// openEvents opens a session's journal for reading; it returns nil if there is none.
func openEvents(dir *store.Dir) (*os.File, error) {
	f, err := dir.OpenFile(store.EventsFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) && dir.CheckIntact() == nil {
		return nil, nil
	}
	return f, err
}

// readError returns the error of an unreadable journal.
func readError(path string, err error) error {
	var system *fs.PathError
	if errors.As(err, &system) {
		err = system.Err // the path that it names is the same, or only the end of it
	}
	if errors.Is(err, syscall.EISDIR) {
		return failure.New(failure.StateCorrupt, "read journal %s: %w", path, err).WithHint("a directory is in the place of the file; move it away")
	}
	return fmt.Errorf("read journal %s: %w", path, err)
}

func damagedError(path, why string) error {
	return failure.New(failure.StateCorrupt, "journal %s: %s", path, why).
		WithHint("another program changed it; resume the session to continue from the remaining events")
}
