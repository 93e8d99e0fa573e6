package exposition

import (
	"cmp"
	"io"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Session describes one session: its newest run.
type Session struct {
	*engine.Metrics
	// Waiting is the number of unanswered questions.
	Waiting int
}

// Write writes the metrics of sessions, grouped by metric name as the format requires.
func Write(to io.Writer, sessions []Session) error {
	var t table
	for _, s := range sessions {
		t.session(s)
	}
	for _, f := range t.families {
		if _, err := expfmt.MetricFamilyToText(to, f); err != nil {
			return err
		}
	}
	return nil
}

// table holds the metric families in the order in which they were first needed.
type table struct{ families []*dto.MetricFamily }

type label struct{ name, value string }

// metric describes the values of one name. A counter's name ends in _total.
type metric struct {
	name, about string
	typ         dto.MetricType
}

// add adds a value of a metric.
func (t *table) add(kind metric, value float64, labels []label, more ...label) {
	name := "agent_pipelines_" + kind.name
	i := slices.IndexFunc(t.families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
	if i < 0 {
		i = len(t.families)
		t.families = append(t.families, &dto.MetricFamily{Name: &name, Help: &kind.about, Type: &kind.typ})
	}
	m := &dto.Metric{}
	for _, l := range slices.Concat(labels, more) {
		m.Label = append(m.Label, &dto.LabelPair{Name: &l.name, Value: &l.value})
	}
	if kind.typ == dto.MetricType_COUNTER {
		m.Counter = &dto.Counter{Value: &value}
	} else {
		m.Gauge = &dto.Gauge{Value: &value}
	}
	t.families[i].Metric = append(t.families[i].Metric, m)
}

const (
	counter = dto.MetricType_COUNTER
	gauge   = dto.MetricType_GAUGE
)

func (t *table) session(s Session) {
	labels := []label{{"session", s.Session}, {"pipeline", cmp.Or(s.Pipeline, loopStage(s.Metrics))}}
	t.add(metric{"session_info", "A session, with its status.", gauge}, 1, labels, label{"status", string(s.Status)}, label{"run_id", s.RunID})
	t.add(metric{"session_start_time_seconds", "When the run of the session began, in seconds since 1970.", gauge}, float64(s.StartedAt.UnixMilli())/1e3, labels)
	t.add(metric{"session_duration_seconds", "How long the run of the session has taken, without the time in which no process owned it.", gauge}, float64(s.DurationMS)/1e3, labels)
	t.add(metric{"session_questions", "Questions of the session that wait for the user.", gauge}, float64(s.Waiting), labels)
	for _, c := range s.Cycles {
		t.add(metric{"cycles_total", "Returns to earlier stages, by edge.", counter}, float64(c.Count), labels, label{"edge", c.Edge})
	}
	for i := range s.Stages {
		t.stage(&s.Stages[i], labels)
	}
}

// loopStage returns the stage of a loop, which has no pipeline.
func loopStage(m *engine.Metrics) string {
	if len(m.Stages) == 0 {
		return ""
	}
	return m.Stages[0].Stage
}

// stage adds the figures of a stage. It skips a stage that runs a pipeline: its figures repeat the figures of that
// pipeline's stages, and sums over stages must not count them twice.
func (t *table) stage(s *timeline.Stage, session []label) {
	if s.Kind == plan.KindPipeline {
		return
	}
	labels := slices.Concat(session, []label{{"stage", s.Stage}, {"path", s.Path}})
	t.add(metric{"visits_total", "Visits of the stage.", counter}, float64(s.Visits), labels)
	t.add(metric{"stage_duration_seconds_total", "How long the visits of the stage took.", counter}, float64(s.DurationMS)/1e3, labels)
	t.add(metric{"iterations_total", "Iterations that were completed.", counter}, float64(s.Iterations), labels)
	t.add(metric{"attempts_total", "Attempts that ended.", counter}, float64(s.Attempts), labels)
	for _, r := range []struct {
		rung  string
		count int
	}{{event.RungAttempt, s.Retries}, {event.RungStage, s.StageRetries}, {event.RungArtifact, s.ArtifactRetries}} {
		t.add(metric{"retries_total", "Attempts and stages that were made again.", counter}, float64(r.count), labels, label{"rung", r.rung})
	}
	for kind, count := range s.Usage.Tokens() { // unknown numbers are not 0
		t.add(metric{"tokens_total", "Tokens that agents and judges said they used.", counter}, float64(count), labels, label{"type", kind})
	}
	if s.Usage.CostUSD != nil {
		t.add(metric{"cost_usd_total", "What agents and judges said that they cost, in US dollars.", counter}, *s.Usage.CostUSD, labels)
	}
	t.add(metric{"calls_without_usage_total", "Calls of agents and judges that did not say how many tokens they used.", counter}, float64(s.UnknownTokens), labels)
}
