package ground_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIterations(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(kind event.Type, seconds float64) event.Event {
		return event.Event{Type: kind, Time: begun.Add(time.Duration(seconds * float64(time.Second)))}
	}
	got := ground.Iterations([]event.Event{
		at(event.SessionStart, 0), at(event.IterationStart, 1), at(event.IterationComplete, 1.5), at(event.IterationStart, 3),
		at(event.IterationStart, 3.25), at(event.SessionComplete, 9),
	})
	if diff := cmp.Diff([]float64{2, 0.25}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPeakMemory(t *testing.T) {
	peak, err := ground.PeakMemory(os.Getpid())
	if runtime.GOOS != "linux" {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v, %v", peak, err)
		}
		return
	}
	if err != nil || peak < 1e6 {
		t.Errorf("this process: %v bytes, %v", peak, err)
	}
	const large = 64 << 20
	block := make([]byte, large)
	for i := 0; i < large; i += 4096 { // a written page is resident
		block[i] = 1
	}
	grown, err := ground.PeakMemory(os.Getpid())
	if err != nil || grown < peak+large/2 {
		t.Errorf("after %d bytes more: %v, before: %v, %v", len(block), grown, peak, err)
	}
	runtime.KeepAlive(block)
	if _, err := ground.PeakMemory(-1); err == nil {
		t.Error("a process that does not exist has a peak")
	}
}

// TestFailures checks that the errors of a command and of a build are returned.
func TestFailures(t *testing.T) {
	p, err := (&ground.Ground{Command: "/bin/false"}).Project(ground.Loop("mock", 2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(p.Dir) })
	if err := p.Run(t.Context(), "broken"); err == nil {
		t.Error("a command that fails runs")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ground.Prepare(ctx, "../../..", t.TempDir()); err == nil {
		t.Error("programs are built")
	}
}
