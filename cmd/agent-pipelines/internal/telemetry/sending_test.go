package telemetry_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/telemetry"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/testdata/collector"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// warnings collects warnings. It is safe for concurrent use.
type warnings struct {
	mu       sync.Mutex
	warnings []string
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warnings = append(w.warnings, text)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.warnings, "\n")
}

// nodes returns the updates of a run that completes n nodes, with one event per second.
func nodes(n int) []engine.Update {
	var all []engine.Update
	add := func(t event.Type, node int, status state.Status) {
		path := fmt.Sprint(node)
		e := event.New(t, &event.Cursor{NodePath: path}, "", nil)
		e.Seq = int64(len(all) + 1)
		e.Epoch, e.RunID, e.Session, e.Time = 1, "PL-1", "s", time.Unix(e.Seq, 0)
		all = append(all, engine.Update{Session: "s", Event: &e, State: &state.State{Lifecycle: state.Lifecycle{Status: status}, Position: state.Position{Nodes: map[string]state.Node{path: {NodeProgress: state.NodeProgress{Visit: 1, Run: 1}}}}}})
	}
	add(event.SessionStart, 0, state.Running)
	for i := range n {
		add(event.NodeStart, i, state.Running)
		add(event.NodeComplete, i, state.Running)
	}
	add(event.SessionComplete, 0, state.Completed)
	return all
}

// start starts the telemetry of a session in a directory. The session's journal has the events in all.
func start(t *testing.T, s telemetry.Settings, all []engine.Update, dir string, w func(string)) *telemetry.Session {
	t.Helper()
	for i := range all {
		all[i].Dir = dir
	}
	made, err := telemetry.Start(t.Context(), telemetry.Options{
		Settings: s, Warn: w,
		Follow: func(_ context.Context, _ string, observe func(engine.Update) error) error {
			for _, u := range all {
				if err := observe(u); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// collect starts a collector and sets the variable with its HTTP endpoint.
func collect(t *testing.T, start func() (*collector.Collector, error)) *collector.Collector {
	t.Helper()
	c, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.HTTP)
	return c
}

var ofTraces = telemetry.Settings{Traces: telemetry.HTTP}

// Events of earlier kernels come faster than they can be sent: none is lost, and all of them count as sent.
func TestBacklog(t *testing.T) {
	c := collect(t, collector.New)
	defer c.Close()
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	const n = 500
	all, dir := nodes(n), t.TempDir()
	var w warnings
	s := start(t, ofTraces, all, dir, w.add)
	s.Observe(all[len(all)-1])
	s.Close()
	text, err := os.ReadFile(filepath.Join(dir, "telemetry.json"))
	want := fmt.Sprintf(`{"run_id":"PL-1","spans":%d}`, n+1)
	require(t, err == nil && strings.TrimSpace(string(text)) == want && len(c.Spans()) == n+1 && w.String() == "", len(c.Spans()), string(text), err, &w)
}

// A session does not wait for a failed collector: spans that exceed the queue are lost and do not count as sent.
func TestFull(t *testing.T) {
	c := collect(t, collector.NewHanging)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "10")
	all, dir := nodes(100), t.TempDir()
	warned := make(chan string, 1)
	s := start(t, ofTraces, all, dir, func(text string) { warned <- text })
	for _, u := range all {
		s.Observe(u)
	}
	got := <-warned
	require(t, strings.Contains(got, "does not arrive"), got)
	c.Close()
	s.Close()
	_, err := os.Lstat(filepath.Join(dir, "telemetry.json"))
	require(t, os.IsNotExist(err), err)
}

// Close waits for a silent collector for FlushLimit at most, whatever the timeouts of the exporters are. Otherwise this
// test hangs.
func TestHanging(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_METRIC_EXPORT_TIMEOUT"} {
		t.Setenv(name, "3600000")
	}
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
	for _, p := range []telemetry.Protocol{telemetry.GRPC, telemetry.HTTP} {
		t.Run(string(p), func(t *testing.T) {
			c := collect(t, collector.NewHanging)
			defer c.Close()
			if p == telemetry.GRPC {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.GRPC)
			}
			all := nodes(100)
			var w warnings
			s := start(t, telemetry.Settings{Traces: p, Metrics: p}, all, t.TempDir(), w.add)
			s.Observe(all[len(all)-1]) // all earlier events wait for the collector
			s.Close()
			require(t, strings.Contains(w.String(), "does not arrive"), &w)
		})
	}
}

// A missing event does not block later events.
func TestMissingEvent(t *testing.T) {
	c := collect(t, collector.New)
	defer c.Close()
	all, dir := nodes(3), t.TempDir()
	var w warnings
	s := start(t, ofTraces, all, dir, w.add)
	for i, u := range all {
		if i != 3 {
			s.Observe(u)
		}
	}
	s.Close()
	require(t, len(c.Spans()) == 4 && strings.Count(w.String(), "was not seen") == 1, collector.Draw(c.Spans()), &w)
	_, err := os.Lstat(filepath.Join(dir, "telemetry.json"))
	require(t, os.IsNotExist(err), err)
}

// A missing event does not block later events during the run either, once enough of them wait.
func TestMissingEventWhileRunning(t *testing.T) {
	c := collect(t, collector.New)
	defer c.Close()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	all := nodes(600)
	s := start(t, ofTraces, all, t.TempDir(), func(string) {})
	defer s.Close()
	for i, u := range all {
		if i != 3 {
			s.Observe(u)
		}
	}
	for len(c.Spans()) < 3 { // one span is from before the hole
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("%d spans", len(c.Spans()))
		}
	}
}

// An agent that can write into the session's directory can neither redirect a write nor block the session.
func TestPlantedFiles(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plant func(dir, outside string) error
	}{
		{"links", func(dir, outside string) error {
			return joinErrors(os.Symlink(outside, filepath.Join(dir, "telemetry.json")), os.Symlink(outside, filepath.Join(dir, "telemetry.json.new")))
		}},
		{"a pipe", func(dir, _ string) error { return syscall.Mkfifo(filepath.Join(dir, "telemetry.json"), 0o600) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := collect(t, collector.New)
			defer c.Close()
			dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
			const was = `{"run_id":"PL-1","spans":1}`
			if err := joinErrors(os.WriteFile(outside, []byte(was), 0o600), tt.plant(dir, outside)); err != nil {
				t.Fatal(err)
			}
			all := nodes(1)
			s := start(t, ofTraces, all, dir, func(text string) { t.Error(text) })
			for _, u := range all {
				s.Observe(u)
			}
			s.Close()
			text, err := os.ReadFile(outside)
			require(t, string(text) == was && err == nil && len(c.Spans()) == 2, string(text), err, len(c.Spans()))
			info, err := os.Lstat(filepath.Join(dir, "telemetry.json"))
			require(t, err == nil && info.Mode().IsRegular(), info, err)
		})
	}
}

func joinErrors(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
