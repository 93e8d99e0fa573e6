package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// State is the meaning of a [Check] for a run.
type State string

// These are the states of a check. Only [Bad] keeps runs from starting.
const (
	OK   State = "ok"
	Note State = "note" // runs can start, but the user should know of it
	Bad  State = "bad"
)

// Check is the result of one inspection.
type Check struct {
	Area  string `json:"area"` // project, provider, plugins, isolation or machine
	Name  string `json:"name"`
	State State  `json:"state"`
	// Result describes the result in a line.
	Result string `json:"found"`
	// Do is the remedy, "" for none.
	Do string `json:"do,omitempty"`
}

// Free space below littleSpace bytes is worth a note; below noSpace bytes nothing can run.
const (
	littleSpace = 200 << 20
	noSpace     = 1 << 20
)

// Directory tries to write a file in a directory and checks its free space. If the directory does not exist yet, it uses
// the nearest existing directory above.
func Directory(area, name, dir string) Check {
	c := Check{Area: area, Name: name, State: Bad}
	at, err := nearest(dir)
	if err == nil {
		err = try(at)
	}
	if err != nil {
		c.Result, c.Do = err.Error(), "make it writable for you, or work elsewhere"
		if hint, system := failure.SystemHint(err); system {
			c.Do = hint
		}
		return c
	}
	c.State, c.Result = OK, dir+" can be written"
	if at != dir {
		c.Result = dir + " can be made"
	}
	free, err := space(at)
	if err != nil {
		return c
	}
	c.Result += fmt.Sprintf(", %s free", size(free))
	switch {
	case free < noSpace:
		c.State, c.Do = Bad, "free some space"
	case free < littleSpace:
		c.State, c.Do = Note, "free some space: agents and their sessions need it"
	}
	return c
}

// nearest returns the directory itself, or the nearest existing directory above it.
func nearest(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return dir, nil
		case err == nil:
			return "", &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return "", err
		}
		dir = filepath.Dir(dir)
	}
}

// try writes a file and removes it.
func try(dir string) error {
	f, err := os.CreateTemp(dir, ".agent-pipelines-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// space returns the number of bytes that this user can still write in a directory.
func space(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // sizes of blocks are positive, and of different types on different systems
}

// size returns a number of bytes in readable form.
func size(n uint64) string {
	for _, unit := range []struct {
		bytes uint64
		name  string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
