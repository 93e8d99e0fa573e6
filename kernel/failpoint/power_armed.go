//go:build crashpoints

package failpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// BeforeWrite announces a change of the file at this path, or its creation. The elements are joined as by
// [path/filepath.Join].
func BeforeWrite(elem ...string) { armed.record(recordWrite, elem...) }

// AfterSync records that the content of the file at this path is on the disk.
func AfterSync(elem ...string) { armed.record(recordSync, elem...) }

// BeforeRename announces the renaming of a file in a directory: the directory, the old name, the new name.
func BeforeRename(dir, from, to string) {
	armed.record(func(d *diskState, path string) {
		target := d.state(filepath.Join(dir, to))
		target.now, d.state(path).now = d.state(path).now, nil
	}, dir, from)
}

// BeforeRemove announces the removal of the file or empty directory at this path.
func BeforeRemove(elem ...string) {
	armed.record(func(d *diskState, path string) { d.state(path).now = nil }, elem...)
}

// AfterMkdir records that the directory at this path was made.
func AfterMkdir(elem ...string) {
	armed.record(func(d *diskState, path string) { d.names[path] = &pathState{now: &node{dir: true}} }, elem...)
}

// AfterSyncDir records that the names in the directory at this path are on the disk.
func AfterSyncDir(elem ...string) {
	armed.record(func(d *diskState, dir string) {
		for path, n := range d.names {
			if filepath.Dir(path) == dir {
				n.durable = n.now
			}
		}
	}, elem...)
}

// diskState is the state of the files that the process has changed. A nil diskState records nothing, for a
// process without power loss.
//
// A killed process loses no written data: the system still has it. A power loss may take all unsynced data. Code that
// changes a file of a session announces it by [BeforeWrite] and the other functions of this file. From these calls
// diskState knows the durable content of the disk. The losses are among the losses that POSIX allows:
//
//	undone   unsynced changes never happened: contents, names, directories
//	empty    the current names, but only the synced contents
//	torn     as empty, with the first half of the unsynced additions
//
// The content at the start of the process counts as synced. Files of plugins are not covered.
type diskState struct {
	loss  string
	names map[string]*pathState // by absolute path
}

// pathState is the file that a path leads to, now and after a power loss; nil: none.
type pathState struct{ now, durable *node }

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

// state returns the state of a path. Content found at the first use of the path counts as durable.
func (d *diskState) state(path string) *pathState {
	n, known := d.names[path]
	if !known {
		n = &pathState{}
		if info, err := os.Lstat(path); err == nil {
			n.now = &node{dir: !info.Mode().IsRegular()} // like directories, links and pipes are not restored
			if !n.now.dir {
				n.now.synced = readFile(path)
			}
			n.durable = n.now
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

// losePower changes the disk to the state after the power loss.
func (d *diskState) losePower() {
	if d == nil {
		return
	}
	for path, n := range d.names {
		switch {
		case n.now != nil && n.now.dir || n.durable != nil && n.durable.dir: // below
		case d.loss != "undone":
			if n.now != nil {
				d.truncate(path, n.now)
			}
		case n.durable != nil:
			must(os.WriteFile(path, n.durable.synced, 0o644))
		default:
			must(os.Remove(path))
		}
	}
	for path, n := range d.names {
		if d.loss == "undone" && n.now != nil && n.now.dir && n.durable == nil {
			must(os.RemoveAll(path))
		}
	}
}

// truncate keeps the synced content of a file and, if torn, half of the content added since.
func (d *diskState) truncate(path string, n *node) {
	left := n.synced
	if content := readFile(path); d.loss == "torn" && len(content) > len(left) {
		left = content[:len(left)+(len(content)-len(left))/2]
	}
	must(os.WriteFile(path, left, 0o644))
}

func readFile(path string) []byte {
	b, err := os.ReadFile(path)
	must(err)
	return b
}

// must panics, because a harness whose power loss does nothing proves nothing. A file that is already gone is
// no error.
func must(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(fmt.Sprintf("crash: lose power: %v", err))
	}
}
