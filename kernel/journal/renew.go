package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// maxArchived is the largest journal that is archived, in bytes.
const maxArchived = 1 << 30

// Replace copies a session's journal to events.jsonl.damaged-<n> and replaces it in one step by a journal with the
// single event e. The event gets the session and the time. Replace returns the event and the copy's name, "" if there
// was no journal. Only the holder of the session's lock may call it, and no [Journal] may be open.
func Replace(ctx context.Context, dir *store.Dir, e event.Event) (_ event.Event, kept string, err error) {
	lock, err := dir.OpenFile(store.EventsLock, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return e, "", err
	}
	defer lock.Close()
	f := eventsFile{lock: lock, path: dir.Abs(store.EventsFile)}
	unlock, err := f.lockForAppend(ctx)
	if err != nil {
		return e, "", err
	}
	defer unlock()
	e.Session, e.Time, e.Prev = dir.Session(), time.Now().UTC().Round(0), chainDigest("", []byte(dir.Session()))
	text, err := e.AppendLine(nil)
	if err != nil {
		return e, "", err
	}
	if kept, err = archive(dir); err != nil {
		return e, "", err
	}
	_, err = dir.Write(store.EventsFile, text)
	return e, kept, err
}

// archive copies the journal, so that the original exists until it is replaced.
func archive(dir *store.Dir) (string, error) {
	text, err := dir.Read(store.EventsFile, maxArchived)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.damaged-%d", store.EventsFile, n)
		if _, err := dir.Stat(name); errors.Is(err, fs.ErrNotExist) {
			_, err := dir.Write(name, text)
			return name, err
		} else if err != nil {
			return "", err
		}
	}
}
