package attempt

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// maxAccepted is how many files of a run are seen to: those of the last iterations in which an attempt was given up.
const maxAccepted = 64

// Accepted are the files of iterations that succeeded after an attempt of theirs was given up: its agent knew the same
// paths and may still write there. The zero value is ready. It is safe for concurrent use.
type PublishedFiles struct {
	mu    sync.Mutex // guards:
	files []accepted
}

type accepted struct {
	name string      // in the session
	info fs.FileInfo // as it was written
	copy string      // the same content, where no other attempt writes
	by   event.Event // without type and data: what a late delivery is about
	at   store.Iteration
}

// add begins to see to a file that the attempt wrote, if it is there.
func (f *PublishedFiles) add(a *attempt, name, own string) {
	info, err := a.Dir.Stat(name)
	if f == nil || err != nil {
		return
	}
	if _, err := a.Dir.Stat(own); err != nil {
		return
	}
	by := event.Event{Key: a.command.Key, Cursor: a.command.Location.Cursor(), Attempt: a.command.Attempt}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = slices.DeleteFunc(f.files, func(known accepted) bool { return known.name == name })
	f.files = append(f.files, accepted{name, info, own, by, store.Iteration(path.Dir(own))})
	f.files = f.files[max(0, len(f.files)-maxAccepted):]
}

// forget no longer sees to the files of an iteration, which is made once more.
func (f *PublishedFiles) forget(it store.Iteration) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = slices.DeleteFunc(f.files, func(known accepted) bool { return path.Dir(known.name) == string(it) })
}

// Mend gives accepted files back what they held, where an agent that was given up has written over them, puts what that
// wrote aside, and records it. It costs nothing in a run in which no attempt was given up.
func (m *Runner) Restore(ctx context.Context, record func(context.Context, event.Event) error) {
	f := m.Accepted
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.files {
		file := &f.files[i]
		if info, err := m.Dir.Stat(file.name); err == nil && unchanged(file.info, info) {
			continue
		}
		if err := m.mend(ctx, file, record); err != nil {
			m.Log.Warn("a file that an agent that was given up has changed is not mended", "file", file.name, "error", err)
		}
	}
}

func (m *Runner) mend(ctx context.Context, file *accepted, record func(context.Context, event.Event) error) error {
	d := event.LateDeliveryData{What: event.LateFile, Path: file.name}
	aside := string(file.at) + "/late-" + path.Base(file.name)
	if m.Dir.Rename(file.name, aside) == nil { // else it was removed
		d.Kept = refIf(m.Dir, aside)
	}
	info, err := m.Dir.Stat(file.copy)
	if err != nil {
		return err
	}
	data, err := m.Dir.Read(file.copy, info.Size())
	if err != nil {
		return err
	}
	if _, err := m.Dir.Write(file.name, data); err != nil {
		return err
	}
	if file.info, err = m.Dir.Stat(file.name); err != nil {
		return err
	}
	m.Log.Warn("an agent that was given up wrote over a file of the attempt after it; the file is as it was", "file", file.name)
	e := event.New(event.LateDelivery, file.by.Cursor, file.by.Key, d)
	e.Attempt = file.by.Attempt
	return record(ctx, e)
}
