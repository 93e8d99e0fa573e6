package journal_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestOlderKernelIsFenced(t *testing.T) {
	d := openDir(t)
	older := begin(t, d, journal.Options{FlushInterval: time.Hour})
	must(older.Append(t.Context(), stateEvent("before")))
	must(older.Append(t.Context(), infoEvent("never written")))
	newer := open(t, d, journal.Options{})
	started := must(newer.Start(t.Context(), event.KernelStartData{PID: 2}))
	require(t, len(started) == 1 && started[0].Epoch == 2 && started[0].Seq == 4 && started[0].RunID == "PL-1", started)

	for range 2 {
		_, err := older.Append(t.Context(), stateEvent("late"))
		require(t, errors.Is(err, journal.ErrFenced) && failure.KindOf(err) == failure.LockContention, err)
	}
	_, err := older.Append(t.Context(), infoEvent("late"))
	require(t, errors.Is(err, journal.ErrFenced), err)
	_, err = older.Start(t.Context(), event.KernelStartData{})
	require(t, errors.Is(err, journal.ErrFenced), err)
	must(newer.Append(t.Context(), stateEvent("after")))
	err = older.Close()
	require(t, errors.Is(err, journal.ErrFenced), err)
	log := read(t, d)
	compare(t, "session_start kernel_start session_paused kernel_start session_paused", types(log.Events))
	compare(t, journal.Report{}, log.Report)
}

// A kernel without anything to write notices a later epoch with CheckEpoch.
func TestCheckFindsTheLaterKernel(t *testing.T) {
	d := openDir(t)
	older := begin(t, d, journal.Options{FlushInterval: time.Hour})
	check(t, older.CheckEpoch(t.Context()))
	other := open(t, d, journal.Options{}) // adds an event and begins no epoch
	must(other.Append(t.Context(), stateEvent("headCopy")))
	check(t, older.CheckEpoch(t.Context()))
	added, err := older.Append(t.Context(), stateEvent("behind it"))
	require(t, err == nil && added[0].Seq == 4, added, err)
	newer := open(t, d, journal.Options{})
	must(newer.Start(t.Context(), event.KernelStartData{PID: 2}))
	for range 2 {
		if err := older.CheckEpoch(t.Context()); !errors.Is(err, journal.ErrFenced) {
			t.Errorf("the older one got %v", err)
		}
	}
	if err := newer.CheckEpoch(t.Context()); err != nil {
		t.Errorf("the newer one got %v", err)
	}
	check(t, errors.Join(newer.Close(), other.Close()))
	err = newer.CheckEpoch(t.Context())
	require(t, errors.Is(err, journal.ErrClosed), err)
}

// Begin returns the events of the new run, without the events that the replaced kernel appended meanwhile.
func TestBeginOmitsEventsOfOlderKernel(t *testing.T) {
	d := openDir(t)
	older := begin(t, d, journal.Options{})
	newer := open(t, d, journal.Options{})
	must(older.Append(t.Context(), stateEvent("meanwhile")))
	got := must(newer.Begin(t.Context(), "PL-2", event.SessionStartData{}, event.KernelStartData{PID: 2}))
	var types []event.Type
	for _, e := range got {
		types = append(types, e.Type)
	}
	compare(t, []event.Type{event.SessionStart, event.KernelStart}, types)
	compare(t, 4, got[0].Seq)
}

// The older kernel appends as fast as it can while the newer kernel begins its epoch.
func TestNewEpochFencesOlderKernel(t *testing.T) {
	d := openDir(t)
	older := begin(t, d, journal.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if _, err := older.Append(t.Context(), stateEvent("older")); err != nil {
					if !errors.Is(err, journal.ErrFenced) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	newer := open(t, d, journal.Options{})
	started := must(newer.Start(t.Context(), event.KernelStartData{}))
	wg.Wait()
	must(newer.Append(t.Context(), stateEvent("newer")))

	log := read(t, d)
	compare(t, journal.Report{}, log.Report)
	last := log.Events[len(log.Events)-2:]
	require(t, last[0].Type == event.KernelStart && last[0].Epoch == 2 && last[1].Epoch == 2, last)
	for i, e := range started { // events that the newer kernel had not read
		want := log.Events[len(log.Events)-1-len(started)+i]
		require(t, e.Seq == want.Seq && e.Type == want.Type, e.Seq, e.Type, want.Seq, want.Type)
	}
}

func TestNoTwoKernelsShareAnEpoch(t *testing.T) {
	d := openDir(t)
	_ = begin(t, d, journal.Options{}).Close()
	const kernels = 8
	epochs := make([]int, kernels)
	var wg sync.WaitGroup
	for i := range kernels {
		j := open(t, d, journal.Options{})
		wg.Go(func() {
			events, err := j.Start(t.Context(), event.KernelStartData{PID: i})
			if err != nil {
				t.Error(err)
				return
			}
			epochs[i] = events[len(events)-1].Epoch
		})
	}
	wg.Wait()
	slices.Sort(epochs)
	compare(t, []int{2, 3, 4, 5, 6, 7, 8, 9}, epochs)
}

// A process without a kernel appends a control event; a kernel that read the journal earlier gets the event from
// Start.
func TestAppendWithoutAnEpoch(t *testing.T) {
	d := openDir(t)
	_ = begin(t, d, journal.Options{}).Close()
	kernel := open(t, d, journal.Options{})
	cli := open(t, d, journal.Options{})
	control := event.New(event.Control, nil, "", event.ControlData{ID: "1", Action: "abort"})
	got, err := cli.Append(t.Context(), control)
	require(t, err == nil && got[0].Seq == 3 && got[0].Epoch == 1 && got[0].RunID == "PL-1", got, err)
	started := must(kernel.Start(t.Context(), event.KernelStartData{}))
	require(t, types(started) == "control kernel_start" && started[1].Seq == 4, started)
	_, err = cli.Append(t.Context(), control)
	require(t, errors.Is(err, journal.ErrFenced), err)
}

// Several writers of one epoch, possible only without a kernel, still number their events without gaps.
func TestTwoWritersOfOneEpoch(t *testing.T) {
	d := openDir(t)
	_ = begin(t, d, journal.Options{}).Close()
	const each = 100
	var wg sync.WaitGroup
	for w := range 3 {
		j := open(t, d, journal.Options{FlushInterval: time.Millisecond})
		wg.Go(func() {
			for i := range each {
				e := stateEvent(fmt.Sprintf("%d/%d", w, i))
				if i%3 == 0 {
					e = infoEvent(fmt.Sprintf("%d/%d", w, i))
				}
				if _, err := j.Append(t.Context(), e); err != nil {
					t.Error(err)
				}
			}
			if err := j.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	log := read(t, d)
	compare(t, 3*each+2, len(log.Events))
	compare(t, journal.Report{}, log.Report)
}

func TestNewRun(t *testing.T) {
	d := openDir(t)
	_ = begin(t, d, journal.Options{}).Close()
	j := open(t, d, journal.Options{})
	got := must(j.Begin(t.Context(), "PL-2", event.SessionStartData{}, event.KernelStartData{}))
	for i, e := range got {
		require(t, e.RunID == "PL-2" && e.Epoch == 2 && e.Seq == int64(3+i), e)
	}
	compare(t, 2, strings.Count(content(t, d), `"run_id":"PL-2"`))
}
