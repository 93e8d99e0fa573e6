package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// The largest numbers of parts of a session that a collector keeps.
const (
	maxIterations = 1000
	maxRows       = 300 // decisions, questions, failures
	maxLanes      = 60
	maxSpans      = 300 // of a lane
	maxGaps       = 200
)

// Iteration is a row of the table of iterations.
type Iteration struct{ *timeline.Iteration }

// Outcome returns the outcome of the iteration, "failed" after a failed attempt.
func (i Iteration) Outcome() string {
	switch {
	case i.Result != nil:
		return cmp.Or(i.Result.Outcome, "success")
	case i.Failure != nil:
		return "failed"
	default:
		return "running"
	}
}

// Summary returns the agent's summary and the message of the outcome.
func (i Iteration) Summary() string {
	if i.Result == nil {
		return ""
	}
	text := event.Truncate(i.Result.Summary, 1<<10)
	if i.Result.Message != "" {
		text = strings.TrimPrefix(text+" — "+event.Truncate(i.Result.Message, 1<<10), " — ")
	}
	return text
}

// Next returns the decision after the iteration.
func (i Iteration) Next() string {
	d := i.Decision
	if d == nil {
		return ""
	}
	reason := event.Truncate(d.Reason, 1<<10)
	if d.Strategy == plan.TypeFixed && strings.HasPrefix(reason, "Completed ") { // the row has the numbers
		reason = ""
	}
	return strings.TrimSuffix(d.Action+": "+reason, ": ")
}

// Decision is the reply of a termination strategy after an iteration.
type Decision struct {
	event.DecisionData
	At       time.Time
	Name     string
	Location event.Location
}

// Because returns the reason for the decision.
func (d *Decision) Because() string {
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
	lanes     lanes
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
		timeline: c.timeline, redact: c.redact, rows: bounded[Iteration]{most: maxIterations}, decisions: bounded[*Decision]{most: maxRows},
		questions: bounded[*timeline.Question]{most: maxRows}, failures: bounded[*timeline.Failure]{most: maxRows}, lanes: lanes{by: map[event.Location]*Lane{}},
	}
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
	if d := e.Decision; d != nil && d.Action != "ask" && d.Strategy != plan.TypeFixed { // which only counts
		c.decisions.add(&Decision{*d, e.Time, e.Name, e.Location})
	}
	if e.NewQuestion != nil {
		c.questions.add(e.NewQuestion)
	}
	c.lanes.observe(e)
}

// where returns a location as text.
func where(name string, at event.Location) string {
	if at.Step != "" {
		name += ", step " + at.Step
	}
	if at.Branch != "" {
		name += " · " + at.Branch
	}
	if at.Visit > 1 {
		name += fmt.Sprintf(" (visit %d)", at.Visit)
	}
	return name
}

// then says how a failure was handled; d is nil if nothing was retried.
func then(d *event.RetryData) string {
	switch {
	case d == nil:
		return ""
	case d.Rung == event.RungStage:
		return fmt.Sprintf("the stage started again (%d of %d)", d.N-1, d.Max-1)
	case d.Rung == event.RungArtifact:
		return "the agent was asked again for its artifact"
	default:
		return fmt.Sprintf("attempt %d of %d", d.N, d.Max)
	}
}
