package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/telemetry"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/testdata/collector"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// With TracesPlain and MetricsPlain, telemetry is sent to a collector without TLS.
func TestPlain(t *testing.T) {
	for _, p := range []telemetry.Protocol{telemetry.GRPC, telemetry.HTTP} {
		t.Run(string(p), func(t *testing.T) {
			c := collect(t, collector.New)
			defer c.Close()
			endpoint := c.HTTP
			if p == telemetry.GRPC {
				endpoint = c.GRPC
			}
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", strings.Replace(endpoint, "http:", "https:", 1)) // the endpoint means TLS without the setting
			all := nodes(1)
			s := start(t, telemetry.Settings{Traces: p, Metrics: p, TracesPlain: true, MetricsPlain: true}, all, t.TempDir(), func(text string) { t.Error(text) })
			for _, u := range all {
				s.Observe(u)
			}
			s.Close()
			require(t, len(c.Spans()) == 2 && c.Sums()["agent_pipelines.runs"] == 1, len(c.Spans()), c.Sums())
		})
	}
}

// The warning about an invalid variable does not contain its value, and telemetry is still sent.
func TestInvalidVariables(t *testing.T) {
	c := collect(t, collector.New)
	defer c.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer s3cr3t")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=%s3cr3t")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "s3cr3t")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "s3cr3t,team=%s3,site=green")
	all := nodes(1)
	var w warnings
	s := start(t, telemetry.Settings{Traces: telemetry.HTTP, Metrics: telemetry.HTTP}, all, t.TempDir(), w.add)
	for _, u := range all {
		s.Observe(u)
	}
	s.Close()
	got := w.String()
	for _, want := range []string{"parse headers", "escape header value", "parse duration", "an entry of OTEL_RESOURCE_ATTRIBUTES", "a %-escape in OTEL_RESOURCE_ATTRIBUTES"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("not once: %s", want)
		}
	}
	require(t, !strings.Contains(got, "s3") && len(c.Spans()) == 2, len(c.Spans()), got)
	green := false
	for _, a := range c.Resources()[0].GetAttributes() {
		green = green || a.GetKey() == "site" && a.GetValue().GetStringValue() == "green"
	}
	require(t, green, c.Resources()[0])
}

// Sampled reports that spans are sent if the sampler selects the run, and only then.
func TestSampled(t *testing.T) {
	c := collect(t, collector.New)
	defer c.Close()
	for sampler, want := range map[string]bool{"always_on": true, "always_off": false, "": true} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		s := start(t, ofTraces, nil, t.TempDir(), func(text string) { t.Error(text) })
		got := s.Sampled(event.RunTraceID("PL-1"))
		require(t, got == want, sampler, got)
		s.Close()
	}
}

// A periodic export that the end of a session cancels is not a failure; any other error is.
func TestCanceled(t *testing.T) {
	c := collect(t, collector.New)
	defer c.Close()
	var w warnings
	s := start(t, telemetry.Settings{Metrics: telemetry.HTTP}, nil, t.TempDir(), w.add)
	defer s.Close()
	otel.Handle(context.Canceled) // from the collection, before the export
	otel.Handle(fmt.Errorf("failed to upload metrics: %w", context.Canceled))
	got := w.String()
	require(t, got == "", got)
	otel.Handle(errors.New("no space"))
	got = w.String()
	require(t, strings.Contains(got, "no space"), got)
}

// Questions that were open before this process are counted while it runs, and no longer when it has ended.
func TestQuestions(t *testing.T) {
	c := collect(t, collector.New)
	defer c.Close()
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
	all := nodes(2)
	for i, e := range []event.Event{
		1: event.New(event.QuestionAsked, nil, "", event.QuestionAskedData{ID: "old", Kind: "pause"}),
		3: event.New(event.QuestionAsked, nil, "", event.QuestionAskedData{ID: "new", Kind: "confirm"}),
	} {
		if e.Type != "" {
			all[i].Event.Type, all[i].Event.Data = e.Type, e.Data
		}
	}
	s := start(t, telemetry.Settings{Metrics: telemetry.HTTP}, all, t.TempDir(), func(text string) { t.Error(text) })
	counted := func(want float64) {
		for c.Sums()["agent_pipelines.questions"] != want {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatalf("%v", c.Sums())
			}
		}
	}
	s.Observe(all[2])
	counted(1)
	s.Observe(all[3])
	counted(2)
	s.Close()
	got, known := c.Sums()["agent_pipelines.questions agent_pipelines.question.kind=pause"]
	require(t, got == 0 && known, c.Sums())
}
