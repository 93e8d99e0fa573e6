package ground_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

// TestRuns uses the real programs: their errors are reported, and calls are observed.
func TestRuns(t *testing.T) {
	g, err := ground.Prepare(t.Context(), "../../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Project(ground.Loop("mock", 2))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("watched", func(t *testing.T) { watched(t, g, p) })
	t.Run("stages", func(t *testing.T) {
		p, err := g.Project(ground.Stages("mock", 2))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context(), "s"); err != nil {
			t.Error(err)
		}
	})
	t.Run("failed", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(p.Dir, ".claude/pipelines/bench.yaml"), []byte("nodes: 7\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context(), "broken"); err == nil {
			t.Error("a broken pipeline runs")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := ground.Prepare(ctx, "../../..", t.TempDir()); err == nil {
			t.Error("programs are built")
		}
	})
}

func watched(t *testing.T, g *ground.Ground, p *ground.Project) {
	w, err := g.Watch(2)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Start(t.Context(), "hangs", w.Environment...)
	if err != nil {
		t.Fatal(err)
	}
	call, err := w.Until(2)
	if err != nil || call.Iteration != 2 || call.PID == r.PID || !call.At.After(r.Started) {
		t.Errorf("call %+v, %v", call, err)
	}
	r.Kill() // it would not end
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	events, err := p.Journal("hangs")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(ground.Iterations(events)); n != 1 {
		t.Errorf("%d whole iterations", n)
	}
}
