package exposition_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/exposition"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// U227: Prometheus can read the output, whatever names contain; nothing is summed twice, unknown numbers are absent.
func TestWrite(t *testing.T) {
	in, cost := int64(5), 0.25
	m := &engine.Metrics{Session: "s", RunID: "PL-1", Pipeline: "a \"bridge\"\n", Status: "completed", StartedAt: time.Unix(100, 0)}
	m.DurationMS = 1500
	m.Cycles = []timeline.Cycle{{Edge: "b:fail->a", Count: 2, Limit: 3}}
	m.Stages = []timeline.Stage{
		{Stage: "a", Path: "0", Kind: plan.KindStage, Visits: 3, Work: timeline.Work{Iterations: 4, Attempts: 5, Retries: 1, Usage: event.Usage{InputTokens: &in, CostUSD: &cost}}},
		{Stage: "inner", Path: "1", Kind: plan.KindPipeline, Visits: 1, Work: timeline.Work{Iterations: 4}},
	}
	var b bytes.Buffer
	if err := exposition.Write(&b, []exposition.Session{{Metrics: m, Waiting: 1}, {Metrics: &engine.Metrics{Session: "t"}}}); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&b)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for name, f := range families {
		for _, metric := range f.GetMetric() {
			got[name] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			if l := metric.GetLabel(); l[0].GetValue() == "s" && l[1].GetValue() != m.Pipeline {
				t.Errorf("%s is of pipeline %q", name, l[1].GetValue())
			}
		}
	}
	delete(got, "agent_pipelines_session_start_time_seconds")
	want := map[string]float64{
		"agent_pipelines_session_info": 2, "agent_pipelines_session_duration_seconds": 1.5, "agent_pipelines_session_questions": 1, "agent_pipelines_cycles_total": 2,
		"agent_pipelines_visits_total": 3, "agent_pipelines_stage_duration_seconds_total": 0, "agent_pipelines_iterations_total": 4, "agent_pipelines_attempts_total": 5,
		"agent_pipelines_retries_total": 1, "agent_pipelines_tokens_total": 5, "agent_pipelines_cost_usd_total": 0.25, "agent_pipelines_calls_without_usage_total": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
