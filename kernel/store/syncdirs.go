package store

import (
	"slices"
	"sync"
)

// maxSyncedDirs is the number of directories that a store remembers as durable; a forgotten one is synced
// again.
const maxSyncedDirs = 64

// syncedDirs lists the directories whose entries in all parents, up to the store's own, are durable.
type syncedDirs struct {
	mu    sync.Mutex
	names []string // the most recently used at the end
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

// remove forgets a directory that is made again.
func (d *syncedDirs) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = slices.DeleteFunc(d.names, func(known string) bool { return known == name })
}
