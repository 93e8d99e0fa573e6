package journal_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func holdLock(t *testing.T, f *os.File) (release func()) {
	t.Helper()
	check(t, store.Flock(t.Context(), f))
	return func() { _ = f.Close() }
}

// A disk that accepts no more bytes ends the journal. A file size limit simulates the disk, in a process of its own.
func TestFullDisk(t *testing.T) {
	const variable = "JOURNAL_TEST_FULL_DISK"
	if os.Getenv(variable) != "" {
		fullDisk(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	require(t, err == nil && strings.Contains(string(out), "--- PASS: TestFullDisk"), err, string(out))
}

func fullDisk(t *testing.T) {
	d := openDir(t)
	j := begin(t, d, journal.Options{})
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	small := limit
	small.Cur = 4096
	check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small))
	written := 0
	var failed error
	for ; failed == nil && written < 100; written++ {
		_, failed = j.Append(t.Context(), stateEvent(fmt.Sprint(written)))
	}
	check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	if failure.KindOf(failed) != failure.StateCorrupt || !errors.Is(failed, syscall.EFBIG) ||
		!strings.Contains(failed.Error(), d.Abs(store.EventsFile)) || !strings.Contains(failure.From(failed).Hint, "space") {
		t.Errorf("failed with %v", failed)
	}
	log := read(t, d)
	require(t, len(log.Events) == written-1+2 && !log.Report.TornTail && strings.HasSuffix(content(t, d), "}\n"), len(log.Events), written-1, log.Report)
	if _, err := j.Append(t.Context(), stateEvent("there is space again")); !errors.Is(err, failed) {
		t.Errorf("the journal continues: %v", err)
	}
	if err := j.Close(); !errors.Is(err, failed) {
		t.Errorf("closed with %v", err)
	}
	again := open(t, d, journal.Options{})
	got, err := again.Start(t.Context(), event.KernelStartData{})
	require(t, err == nil && got[0].Seq == int64(len(log.Events)+1), got, err)
}

// The open journal moves with its renamed directory, so that its old path has another directory or none. Nothing may
// then be written or created.
func TestRenamedDirectory(t *testing.T) {
	for name, replace := range map[string]bool{"away": false, "and replaced": true} {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			j := begin(t, d, journal.Options{})
			before := content(t, d)
			moved := d.Path() + "-moved"
			check(t, os.Rename(d.Path(), moved))
			if replace {
				check(t, os.Mkdir(d.Path(), 0o755))
			}
			for name, err := range map[string]error{"append": last(j.Append(t.Context(), stateEvent("late"))), "check": j.CheckEpoch(t.Context())} {
				if failure.KindOf(err) != failure.StateCorrupt || !strings.Contains(err.Error(), "removed or replaced while in use") || !strings.Contains(failure.From(err).Hint, "restore it") {
					t.Errorf("%s: %v", name, err)
				}
			}
			_ = j.Close()
			after, err := os.ReadFile(moved + "/" + store.EventsFile)
			require(t, err == nil && string(after) == before, err, string(after))
			entries, err := os.ReadDir(d.Path())
			require(t, replace == (err == nil) && len(entries) == 0, entries, err)
		})
	}
}

func last[T any](_ T, err error) error { return err }
