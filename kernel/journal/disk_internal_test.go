package journal

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// badDisk fails the next writes after their first half, and the next syncs.
type badDisk struct {
	disk
	writes, syncs int
	err           error
}

func (b *badDisk) Write(p []byte) (int, error) {
	if b.writes == 0 {
		return b.disk.Write(p)
	}
	b.writes--
	n, err := b.disk.Write(p[:len(p)/2])
	return n, errors.Join(b.err, err)
}

func (b *badDisk) Sync() error {
	if b.syncs == 0 {
		return b.disk.Sync()
	}
	b.syncs--
	return b.err
}

func TestDiskFailures(t *testing.T) {
	const ever = 1 << 30
	tests := map[string]struct {
		writes, syncs int
		err           error
		wantHint      string // of the failure, "" if it works in the end
	}{
		"write works the third time":  {2, 0, syscall.EIO, ""},
		"sync works the second time":  {0, 1, syscall.EIO, ""},
		"write works the last time":   {len(retryPauses), 0, syscall.ENOSPC, ""},
		"no space left":               {ever, 0, syscall.ENOSPC, "free some space"},
		"quota used up":               {ever, 0, syscall.EDQUOT, "free some space"},
		"sync never works":            {0, ever, syscall.EIO, "check the disk"},
		"write, then sync never work": {2, ever, syscall.EIO, "check the disk"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := must(store.OpenProject(t.TempDir()))
				defer p.Close()
				d := must(p.Create("s"))
				defer d.Close()
				j, _, err := Open(t.Context(), d, Options{}, func(event.Event) {})
				if err != nil {
					t.Fatal(err)
				}
				defer j.Close()
				must(j.Begin(t.Context(), "r", event.SessionStartData{}, event.KernelStartData{}))
				j.writing.Lock()
				bad := &badDisk{j.file.disk, tt.writes, tt.syncs, tt.err}
				j.file.disk = bad
				j.writing.Unlock()

				_, err = j.Append(t.Context(), event.New(event.Control, nil, "", event.ControlData{ID: "x"}))
				want := 3
				if tt.wantHint != "" {
					want = 2
					if failure.KindOf(err) != failure.StateCorrupt || !errors.Is(err, tt.err) || !strings.Contains(failure.From(err).Hint, tt.wantHint) {
						t.Errorf("got %v", err)
					}
					j.writing.Lock()
					bad.writes, bad.syncs = 0, 0 // the disk works again, but its content is unknown
					j.writing.Unlock()
					if _, again := j.Append(t.Context(), event.New(event.Control, nil, "", nil)); !errors.Is(again, err) {
						t.Errorf("the next append got %v", again)
					}
				} else if err != nil {
					t.Error(err)
				}
				log, err := Read(d, func(event.Event) error { return nil })
				if err != nil || log.Count != want || log.Report.TornTail || log.Report.Damaged() || len(log.Report.BadLines) > 0 {
					t.Errorf("%d events, want %d, %+v, %v", log.Count, want, log.Report, err)
				}
			})
		})
	}
}
