package store

import (
	"slices"
	"sync"
)

// maxSyncedDirs is how many directories a store knows to be durable; one that it forgot is synced once more.
const maxSyncedDirs = 64

// syncedDirs are the directories whose entries in their parents, and so up to the store's own, are durable.
type syncedDirs struct {
	mu    sync.Mutex
	names []string // the one asked for last at the end
}

func (d *syncedDirs) has(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.names, name)
	if i < 0 {
		return false
	}
	d.names = append(slices.Delete(d.names, i, i+1), name)
	return true
}

func (d *syncedDirs) add(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.names, name) {
		return
	}
	if d.names = append(d.names, name); len(d.names) > maxSyncedDirs {
		d.names = slices.Delete(d.names, 0, 1)
	}
}

// remove forgets a directory that was made anew.
func (d *syncedDirs) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = slices.DeleteFunc(d.names, func(known string) bool { return known == name })
}
