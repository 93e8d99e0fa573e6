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

// maxPublished is the number of guarded files per run; the newest are kept.
const maxPublished = 64

// PublishedFiles guards the files of iterations that succeeded after an abandoned attempt: its agent knew the same
// paths and may still write to them. The zero value is ready. It is safe for concurrent use.
type PublishedFiles struct {
	mu    sync.Mutex // guards:
	files []publishedFile
}

type publishedFile struct {
	name      string      // in the session
	info      fs.FileInfo // after the write
	copy      string      // the same content in the attempt's private directory
	event     event.Event // key, cursor and attempt of a late delivery; without type and data
	iteration store.Iteration
}

// add guards a file of the attempt if both the file and its private copy exist.
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
	f.files = slices.DeleteFunc(f.files, func(known publishedFile) bool { return known.name == name })
	f.files = append(f.files, publishedFile{name, info, own, by, store.Iteration(path.Dir(own))})
	f.files = f.files[max(0, len(f.files)-maxPublished):]
}

// forget stops guarding the files of an iteration that starts again.
func (f *PublishedFiles) forget(it store.Iteration) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = slices.DeleteFunc(f.files, func(known publishedFile) bool { return path.Dir(known.name) == string(it) })
}

// Restore rewrites published files that an abandoned agent has overwritten, archives the late content, and records
// it. It costs nothing in a run without abandoned attempts.
func (m *Runner) Restore(ctx context.Context, record func(context.Context, event.Event) error) {
	f := m.Published
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.files {
		file := &f.files[i]
		if info, err := m.Dir.Stat(file.name); err == nil && isUnchanged(file.info, info) {
			continue
		}
		if err := m.restoreFile(ctx, file, record); err != nil {
			m.Log.Warn("could not restore a file that an abandoned agent changed", "file", file.name, "error", err)
		}
	}
}

func (m *Runner) restoreFile(ctx context.Context, file *publishedFile, record func(context.Context, event.Event) error) error {
	d := event.LateDeliveryData{Kind: event.LateFile, Path: file.name}
	aside := string(file.iteration) + "/late-" + path.Base(file.name)
	if m.Dir.Rename(file.name, aside) == nil { // otherwise the agent removed it
		d.KeptFile = optionalRef(m.Dir, aside)
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
	m.Log.Warn("restored a file that an abandoned agent had overwritten", "file", file.name)
	e := event.New(event.LateDelivery, file.event.Cursor, file.event.Key, d)
	e.Attempt = file.event.Attempt
	return record(ctx, e)
}
