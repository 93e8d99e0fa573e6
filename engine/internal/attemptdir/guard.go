package attemptdir

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// guardedFile is a file at a path that the agent of an abandoned attempt knows, and may still write to.
type guardedFile struct {
	name string
	info fs.FileInfo // of the content that must stay, nil for no file
	// copy is a file with the same content, unknown to the agent, from which the file is restored; "" to leave late
	// content in place.
	copy    string
	archive string // path for late content, "" to leave the content in place
	late    event.LateDeliveryData
	effect  *effect.Effect // that published the file, nil for an unpublished file
}

// refuse moves late content away, restores the file, and returns the late delivery; nil for an unchanged file.
func (g *guardedFile) refuse(d *store.Dir) (*event.LateDeliveryData, error) {
	info, err := d.Stat(g.name)
	if err == nil && IsUnchanged(g.info, info) || err != nil && g.copy == "" {
		return nil, nil //nolint:nilnil // nothing was written
	}
	late, kept := g.late, g.name
	if g.archive != "" {
		kept = g.archive
		if err = d.Rename(g.name, g.archive); err != nil && g.copy == "" {
			return nil, err
		}
	}
	if err == nil {
		late.KeptFile = optionalRef(d, kept)
	}
	if g.copy == "" {
		return &late, nil
	}
	return &late, g.restore(d)
}

// restore writes the file again.
func (g *guardedFile) restore(d *store.Dir) error {
	info, err := d.Stat(g.copy)
	if err != nil {
		return err
	}
	data, err := d.Read(g.copy, info.Size())
	if err != nil {
		return err
	}
	if _, err := d.Write(g.name, data); err != nil {
		return err
	}
	g.info, err = d.Stat(g.name)
	return err
}

// IsUnchanged reports whether a file is the same as before; false if before is nil.
func IsUnchanged(before, now fs.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// optionalRef returns a reference to a file, nil if the file cannot be read.
func optionalRef(d *store.Dir, name string) *event.Ref {
	ref, err := d.Ref(name)
	if err != nil {
		return nil
	}
	return &ref
}

// maxPublished is the number of guarded files per run; the newest are kept.
const maxPublished = 64

// Attempts holds the data that all attempts of a run share. It guards the files of iterations that succeeded after an
// abandoned attempt: that attempt's agent knew the same paths and may still write to them. It is safe for concurrent
// use.
type Attempts struct {
	// OpenedAt is the time when this kernel opened the session. Files that earlier attempts write after this time are
	// late.
	OpenedAt time.Time
	// PossiblyFenced reports that an older kernel may still run the session. Then first attempts get private
	// directories, too.
	PossiblyFenced bool

	mu        sync.Mutex // guards published
	published []guardedFile
}

// add guards a published file of the effect's attempt if both the file and its private copy exist.
func (a *Attempts) add(e *effect.Effect, name, own string) {
	info, err := e.Dir.Stat(name)
	if err != nil {
		return
	}
	if _, err := e.Dir.Stat(own); err != nil {
		return
	}
	g := guardedFile{
		name: name, info: info, copy: own, archive: path.Dir(own) + "/late-" + path.Base(name),
		late: event.LateDeliveryData{Kind: event.LateFile, Path: name}, effect: e,
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.published = slices.DeleteFunc(a.published, func(known guardedFile) bool { return known.name == name })
	a.published = append(a.published, g)
	a.published = a.published[max(0, len(a.published)-maxPublished):]
}

// forget stops guarding the files of an iteration that starts again.
func (a *Attempts) forget(it store.Iteration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.published = slices.DeleteFunc(a.published, func(known guardedFile) bool { return path.Dir(known.name) == string(it) })
}

// Restore rewrites published files that an abandoned agent has overwritten, archives the late content, and records
// it. It costs nothing in a run without abandoned attempts.
func (a *Attempts) Restore(ctx context.Context, env *effect.Env, record func(context.Context, event.Event) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	log := env.Log.Named("attempt")
	for i := range a.published {
		g := &a.published[i]
		late, err := g.refuse(env.Dir)
		if late != nil && err == nil {
			log.Warn("restored a file that an abandoned agent had overwritten", "file", g.name)
			err = record(ctx, g.effect.Event(event.LateDelivery, late))
		}
		if err != nil {
			log.Warn("could not restore a file that an abandoned agent changed", "file", g.name, "error", err)
		}
	}
}
