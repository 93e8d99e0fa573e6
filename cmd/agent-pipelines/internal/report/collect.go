package report

import (
	"html/template"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// These are the largest numbers of rows of a session that a collector keeps.
const (
	maxIterations = 1000
	maxRows       = 300 // decisions, questions, failures
)

// Decision is the reply of a termination strategy after an iteration.
type Decision struct {
	event.DecisionData
	At       time.Time
	Name     string
	Location event.Location
}

// ReasonText returns the reason for the decision.
func (d *Decision) ReasonText() string {
	if d.Failure != nil && d.Reason == "" {
		return event.Truncate(d.Failure.Message, 1<<10)
	}
	return event.Truncate(d.Reason, 1<<10)
}

// Collector keeps the parts of a session's timeline that a page shows. It is not safe for concurrent use.
type Collector struct {
	timeline *timeline.Timeline
	redact   func(string) string

	rows      bounded[Iteration]
	decisions bounded[*Decision]
	questions bounded[*timeline.Question]
	failures  bounded[*timeline.Failure]
	nodeRows  nodeRows
	series    series
}

// NewCollector returns a collector for the entries of a timeline. redact removes the secrets from a text.
func NewCollector(t *timeline.Timeline, redact func(string) string) *Collector {
	c := &Collector{timeline: t, redact: redact}
	c.reset()
	return c
}

func (c *Collector) reset() {
	*c = Collector{
		timeline: c.timeline, redact: c.redact, rows: newBounded[Iteration](maxIterations), decisions: newBounded[*Decision](maxRows),
		questions: newBounded[*timeline.Question](maxRows), failures: newBounded[*timeline.Failure](maxRows),
		nodeRows: nodeRows{by: map[event.Location]*nodeRow{}, list: bounded[*nodeRow]{lasts: maxNodeRows}},
	}
}

// newBounded returns an empty sequence that keeps at most `most` elements; a fifth of them are the first ones.
func newBounded[T any](most int) bounded[T] {
	return bounded[T]{firsts: most / 5, lasts: most - most/5}
}

// Observe adds the next entry.
func (c *Collector) Observe(e timeline.Entry) {
	if e.IsNewRun {
		c.reset()
	}
	if e.Began {
		c.rows.add(Iteration{e.Iteration})
	}
	if e.Usage != nil {
		c.series.add(e.Time, *e.Usage)
	}
	if e.Failure != nil {
		c.failures.add(e.Failure)
	}
	if d := e.Decision; d != nil && d.Action != "ask" && d.Strategy != plan.TypeFixed { // the strategy fixed only counts
		c.decisions.add(&Decision{*d, e.Time, e.Name, e.Location})
	}
	if e.NewQuestion != nil {
		c.questions.add(e.NewQuestion)
	}
	c.nodeRows.observe(e)
}

// These are the maximum lengths of texts, in columns.
const (
	maxText    = 2000
	maxSummary = 300
)

// line returns a text for the page: redacted, on one line, truncated. Its argument may be longer, because redaction
// does not match half a secret.
func (c *Collector) line(text string) string {
	return screen.Cut(screen.Clean(c.redact(text)), maxText)
}

// Facts are the results of the queries on a session.
type Facts struct {
	Status  *engine.Status
	Metrics *engine.Metrics // nil if unknown
	Why     why.Explanation
	Graph   template.HTML // SVG of the pipeline, "" for none
	// Artifacts are the latest artifacts of the nodes; short artifacts have their texts.
	Artifacts     []Artifact
	ArtifactsLeft int // number of further artifacts
	// Read reads at most limit bytes of a file of the session; whole reports that the file is not longer.
	Read func(path string, limit int64) (text string, whole bool, err error)
	// Agent redacts a text of an agent.
	Agent   func(string) string
	Now     time.Time
	Version string
}

// Artifact is an artifact of a node.
type Artifact struct {
	Node, Type, File string
	Visit            int
	Size             int64
	Problem          string
	Text             string // "" if it is not shown
	Cut              bool   // Text is truncated
}
