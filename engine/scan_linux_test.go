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

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// U109: an iteration looks for what it needs by name. While iterations go on, in a run as in a resumed
// one, nobody lists a directory of the session or of the project, however many there are: the system
// itself tells of every listing.
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
	var seen *listings // nil until the run has come to its first iteration: what a start lists is behind then
	e := eng(t, root, agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		if req.Node != "work" {
			return nil
		}
		if seen == nil {
			seen = watchListings(t, root)
		}
		if listed := seen.all(t); len(listed) > 0 {
			t.Errorf("before iteration %d these were listed: %q", req.Iteration, listed)
		}
		if req.Iteration == stopAt {
			stop()
		}
		return nil
	}})
	if _, err := e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo"}); err != nil {
		t.Fatal(err)
	}
	seen = nil
	if r, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !r.Success {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(seen.of) < 5 {
		t.Errorf("only %q were watched", seen.of)
	}
	watched := filepath.Join(root, ".claude/pipeline-runs/demo/stage-01-work/iterations")
	if _, err := os.ReadDir(watched); err != nil {
		t.Fatal(err)
	}
	if listed := seen.all(t); !slices.Equal(listed, []string{watched}) {
		t.Errorf("the test sees %q when %s is listed", listed, watched)
	}
}

// listings are those of the directories that are watched.
type listings struct {
	fd int
	of map[int32]string
}

// watchListings watches root, the directories below it, and those that are made in these later.
func watchListings(t *testing.T, root string) *listings {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Error(err)
		return &listings{fd: -1}
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	l := &listings{fd, map[int32]string{}}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		n, err := syscall.InotifyAddWatch(fd, name, syscall.IN_ACCESS|syscall.IN_ONLYDIR)
		l.of[int32(n)] = name
		return err
	})
	if err != nil {
		t.Error(err)
	}
	l.all(t) // the walk's own
	return l
}

// all are the directories that were listed since it was asked last, each once. The inbox is left out: it
// is looked into by the clock, not by iterations, and holds what was sent.
func (l *listings) all(t *testing.T) []string {
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
				t.Error("some listings were not told")
			}
			name := filepath.Join(l.of[watch], within)
			if mask&syscall.IN_ACCESS != 0 && mask&syscall.IN_ISDIR != 0 && filepath.Base(name) != "inbox" {
				names = append(names, name)
			}
		}
	}
}
