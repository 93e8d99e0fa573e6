package telemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/telemetry"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/testdata/collector"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFromEnvironment(t *testing.T) {
	for _, tt := range []struct {
		name     string
		env      map[string]string
		want     telemetry.Settings
		warnings int
	}{
		{"nothing", nil, telemetry.Settings{}, 0},
		{"who sends is no reason to send", map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_RESOURCE_ATTRIBUTES": "a=b"}, telemetry.Settings{}, 0},
		{"an endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, telemetry.Settings{Traces: telemetry.HTTP, Metrics: telemetry.HTTP}, 0},
		{"of traces alone", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, telemetry.Settings{Traces: telemetry.GRPC}, 0},
		{"exporters", map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, telemetry.Settings{Metrics: telemetry.GRPC, MetricsPlain: true}, 0},
		{"on this machine", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp"}, telemetry.Settings{Traces: telemetry.HTTP, Metrics: telemetry.HTTP, TracesPlain: true, MetricsPlain: true}, 0},
		{"… but one of them secure", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "x.pem"}, telemetry.Settings{Traces: telemetry.HTTP, Metrics: telemetry.HTTP, MetricsPlain: true}, 0},
		{"… as the variables say", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_INSECURE": "false"}, telemetry.Settings{Traces: telemetry.HTTP}, 0},
		{"disabled", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "TRUE"}, telemetry.Settings{}, 0},
		{"unknown", map[string]string{"OTEL_TRACES_EXPORTER": "jaeger", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, telemetry.Settings{}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, warnings := telemetry.FromEnvironment(func(name string) string { return tt.env[name] })
			diff := cmp.Diff(tt.want, got)
			require(t, diff == "" && len(warnings) == tt.warnings, diff, warnings)
		})
	}
}

// journal returns the events of a run with one node, numbered from 1.
func journal() []engine.Update {
	var all []engine.Update
	for i, tt := range []struct {
		t      event.Type
		status state.Status
		epoch  int
	}{
		{event.SessionStart, state.Running, 0},
		{event.KernelStart, state.Running, 1},
		{event.NodeStart, state.Running, 1},
		{event.KernelStart, state.Running, 2},
		{event.NodeComplete, state.Running, 2},
		{event.SessionComplete, state.Completed, 2},
	} {
		e := event.New(tt.t, &event.Cursor{NodePath: "0"}, "", nil)
		e.Seq, e.Epoch, e.RunID, e.Session, e.Time = int64(i+1), tt.epoch, "PL-1", "s", time.Unix(int64(i+1), 0)
		all = append(all, engine.Update{Session: "s", Event: &e, State: &state.State{Lifecycle: state.Lifecycle{Status: tt.status}, Position: state.Position{Nodes: map[string]state.Node{"0": {NodeProgress: state.NodeProgress{Visit: 1, Run: 1}}}}}})
	}
	return all
}

// A kernel that resumes a session reads the earlier events once. Events out of order wait, and events that an earlier
// kernel has sent are not sent again.
func TestSession(t *testing.T) {
	c, err := collector.New()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.HTTP)
	all, dir, warned, read := journal(), t.TempDir(), "", 0
	for i := range all {
		all[i].Dir = dir
	}
	for range 2 {
		s, err := telemetry.Start(t.Context(), telemetry.Options{
			Settings: telemetry.Settings{Traces: telemetry.HTTP}, Warn: func(w string) { warned = w },
			Follow: func(_ context.Context, _ string, observe func(engine.Update) error) error {
				read++
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
		for _, i := range []int{3, 5, 4} {
			s.Observe(all[i])
		}
		s.Close()
	}
	got := collector.Draw(c.Trace("PL-1"))
	require(t, len(c.Spans()) == 2 && warned == "" && read == 2, got, warned, read)
}

// A session whose settings send nothing is nil and does nothing.
func TestDisabled(t *testing.T) {
	s, err := telemetry.Start(t.Context(), telemetry.Options{})
	require(t, s == nil && err == nil, s, err)
	s.Observe(journal()[0])
	s.Close()
	require(t, !s.Sampled(event.RunTraceID("PL-1")), "says that spans are sent")
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		for _, v := range values {
			t.Logf("%+v", v)
		}
		t.FailNow()
	}
}
