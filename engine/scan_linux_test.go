package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U109: iterations find files by name. No directory of session or project is listed between iterations, in a
// run or a resume; inotify reports each listing.
func TestNoIterationListsADirectory(t *testing.T) {
	const iterations, stopAt = 12, 5
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	root := project(t, fmt.Sprintf(`name: two
defaults: {provider: agent}
nodes:
  - {id: before, prompt: p}
  - {id: work, prompt: p, runs: %d, inputs: {from: before, select: all}}
`, iterations))
	var seen *listingWatch // set at the first iteration, after the listings of the start
	e := newEngine(t, root, agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		if req.Node != "work" {
			return nil
		}
		if seen == nil {
			seen = watchListings(t, root)
		}
		if listed := seen.drain(t); len(listed) > 0 {
			t.Errorf("before iteration %d these were listed: %q", req.Iteration, listed)
		}
		if req.Iteration == stopAt {
			stop()
		}
		return nil
	}})
	testkit.Must(e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo"}))
	seen = nil
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
	if len(seen.dirs) < 5 {
		t.Errorf("only %q were watched", seen.dirs)
	}
	watched := filepath.Join(root, ".claude/pipeline-runs/demo/stage-01-work/iterations")
	testkit.Must(os.ReadDir(watched))
	if listed := seen.drain(t); !slices.Equal(listed, []string{watched}) {
		t.Errorf("the test sees %q when %s is listed", listed, watched)
	}
}

// listingWatch reports listings of the watched directories.
type listingWatch struct {
	fd   int
	dirs map[int32]string
}

// watchListings watches root and the directories below it.
func watchListings(t *testing.T, root string) *listingWatch {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Error(err)
		return &listingWatch{fd: -1}
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	l := &listingWatch{fd, map[int32]string{}}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		n, err := syscall.InotifyAddWatch(fd, name, syscall.IN_ACCESS|syscall.IN_ONLYDIR)
		l.dirs[int32(n)] = name
		return err
	})
	if err != nil {
		t.Error(err)
	}
	l.drain(t) // discard the walk's own listings
	return l
}

// drain returns the directories listed since the last call, each once. It ignores the inbox, which is polled
// at intervals.
func (l *listingWatch) drain(t *testing.T) []string {
	t.Helper()
	var names []string
	for buffer := make([]byte, 64<<10); ; {
		n, err := syscall.Read(l.fd, buffer)
		if errors.Is(err, syscall.EAGAIN) {
			slices.Sort(names)
			return slices.Compact(names)
		}
		if err != nil {
			t.Error(err)
			return names
		}
		for rest := buffer[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
			watch, mask := int32(binary.NativeEndian.Uint32(rest)), binary.NativeEndian.Uint32(rest[4:])
			end := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
			within := strings.TrimRight(string(rest[syscall.SizeofInotifyEvent:end]), "\x00") // "" for the directory itself
			rest = rest[end:]
			if mask&syscall.IN_Q_OVERFLOW != 0 {
				t.Error("some listings were lost")
			}
			name := filepath.Join(l.dirs[watch], within)
			if mask&syscall.IN_ACCESS != 0 && mask&syscall.IN_ISDIR != 0 && filepath.Base(name) != "inbox" {
				names = append(names, name)
			}
		}
	}
}
