//go:build crashpoints

package failpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// BeforeWrite tells that the content of the file at this path is about to change, or that the file is about to be
// made. The elements are joined as by [filepath.Join].
func BeforeWrite(elem ...string) { armed.record(recordWrite, elem...) }

// AfterSync tells that the content of the file at this path is on the disk.
func AfterSync(elem ...string) { armed.record(recordSync, elem...) }

// BeforeRename tells that a file is about to get another name in the directory dir.
func BeforeRename(dir, from, to string) {
	armed.record(func(d *diskState, path string) {
		target := d.state(filepath.Join(dir, to))
		target.now, d.state(path).now = d.state(path).now, nil
	}, dir, from)
}

// BeforeRemove tells that the file at this path, or the empty directory, is about to be removed.
func BeforeRemove(elem ...string) {
	armed.record(func(d *diskState, path string) { d.state(path).now = nil }, elem...)
}

// AfterMkdir tells that the directory at this path was made.
func AfterMkdir(elem ...string) {
	armed.record(func(d *diskState, path string) { d.names[path] = &pathState{now: &node{dir: true}} }, elem...)
}

// AfterSyncDir tells that the names in the directory at this path are on the disk.
func AfterSyncDir(elem ...string) {
	armed.record(func(d *diskState, dir string) {
		for path, n := range d.names {
			if filepath.Dir(path) == dir {
				n.kept = n.now
			}
		}
	}, elem...)
}

// disk is what is known of the files that the process has changed. A nil disk knows nothing, for a process whose
// power does not fail.
type diskState struct {
	loss  string
	names map[string]*pathState // by absolute path
}

// name is what a path leads to, now and after a power loss; nil: nothing.
type pathState struct{ now, kept *node }

// node is a file or a directory.
type node struct {
	dir    bool
	synced []byte // the content that is on the disk
}

func newDiskState(loss string) *diskState {
	switch loss {
	case "":
		return nil
	case "undone", "empty", "torn":
		return &diskState{loss: loss, names: map[string]*pathState{}}
	default:
		panic("crash: AGENT_PIPELINES_CRASH_POWER is undone, empty or torn, not " + loss)
	}
}

func (p *armedProcess) record(change func(d *diskState, path string), elem ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.power != nil {
		change(p.power, filepath.Join(elem...))
	}
}

// at is the name of a path. What lies there when the path is first heard of was there before.
func (d *diskState) state(path string) *pathState {
	n, known := d.names[path]
	if !known {
		n = &pathState{}
		if info, err := os.Lstat(path); err == nil {
			n.now = &node{dir: !info.Mode().IsRegular()} // links and pipes are left alone as directories are
			if !n.now.dir {
				n.now.synced = readFile(path)
			}
			n.kept = n.now
		}
		d.names[path] = n
	}
	return n
}

func recordWrite(d *diskState, path string) {
	if n := d.state(path); n.now == nil {
		n.now = &node{}
	}
}

func recordSync(d *diskState, path string) { d.state(path).now.synced = readFile(path) }

// lose makes the disk what the power loss leaves of it.
func (d *diskState) losePower() {
	if d == nil {
		return
	}
	for path, n := range d.names {
		switch {
		case n.now != nil && n.now.dir || n.kept != nil && n.kept.dir: // below
		case d.loss != "undone":
			if n.now != nil {
				d.truncate(path, n.now)
			}
		case n.kept != nil:
			must(os.WriteFile(path, n.kept.synced, 0o644))
		default:
			must(os.Remove(path))
		}
	}
	for path, n := range d.names {
		if d.loss == "undone" && n.now != nil && n.now.dir && n.kept == nil {
			must(os.RemoveAll(path))
		}
	}
}

// cut leaves of a file's content what was synced, and, torn, half of what was added to it since.
func (d *diskState) truncate(path string, n *node) {
	left := n.synced
	if there := readFile(path); d.loss == "torn" && len(there) > len(left) {
		left = there[:len(left)+(len(there)-len(left))/2]
	}
	must(os.WriteFile(path, left, 0o644))
}

func readFile(path string) []byte {
	b, err := os.ReadFile(path)
	must(err)
	return b
}

// must panics: a harness whose power loss loses nothing would prove nothing. What is gone already, with a directory
// or by another process, is no error.
func must(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(fmt.Sprintf("crash: lose power: %v", err))
	}
}
