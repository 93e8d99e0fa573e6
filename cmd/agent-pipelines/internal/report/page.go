package report

import (
	"cmp"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

//go:embed page.html
var pageText string

//go:embed style.css
var styleText string

// table holds the rows of a table.
type table[T any] struct {
	Folded  []T // the older rows
	Shown   []T
	Dropped int // number of dropped rows
}

// shownRows is the number of rows of a table that are not folded.
const shownRows = 100

func newTable[T any](b *bounded[T]) table[T] {
	kept, left := b.all()
	from := max(0, len(kept)-shownRows)
	return table[T]{Folded: kept[:from], Shown: kept[from:], Dropped: left}
}

// page holds the contents of a page.
type page struct {
	Facts
	Style             template.CSS
	StatusText, Class string
	Pipeline          string
	Head              []namedText
	Stages            []stage
	Timeline          template.HTML
	RowsLeft          int
	Tokens, Cost      template.HTML
	Late              []string
	Outputs           []Output
	OutputsLeft       int
	tables
}

// tables holds the tables of a page.
type tables struct {
	Iterations table[Iteration]
	Decisions  table[*Decision]
	Questions  table[*timeline.Question]
	Failures   table[*timeline.Failure]
}

// namedText is a line at the head of the page.
type namedText struct{ Name, Value string }

// stage is a row of the table of stages.
type stage struct {
	ID, Status, Class, Reason             string
	Iterations, Attempts, Retries, Visits int
	Duration, Tokens, Cost                string
}

// maxChain is the number of causes in a page.
const maxChain = 25

// Write writes the page of a session.
func (c *Collector) Write(to io.Writer, f Facts) error {
	p := c.page(f)
	t := template.New("page").Funcs(template.FuncMap{
		"line": c.line, "lines": block, "brief": func(s string) string { return screen.Cut(c.line(s), maxSummary) }, "clock": clock, "duration": screen.DurationText, "tokens": tokens, "cost": cost, "good": outcomeClass,
		"where": locationText, "then": retryText, "short": func(s string) string { return event.Truncate(s, 1<<10) }, "long": func(s string) string { return event.Truncate(s, 2<<10) },
		"count": func(n int) string { return screen.Count(int64(n)) }, "size": screen.Count, "secret": screen.Secret, "refused": screen.Refused,
	})
	t, err := t.Parse(pageText)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	return t.Execute(to, p)
}

func (c *Collector) page(f Facts) *page {
	s := f.Status
	p := &page{
		Facts: f, StatusText: cmp.Or(string(s.Status), "never began"), Class: outcomeClass(string(s.Status)), Style: template.CSS(styleText), //nolint:gosec // our own
		tables: tables{newTable(&c.rows), newTable(&c.decisions), newTable(&c.questions), newTable(&c.failures)},
	}
	if s.Crashed {
		p.StatusText, p.Class = "crashed", "bad"
	}
	if n := len(f.Why.Chain); n > maxChain {
		p.Why.Chain, p.Why.LeftOut = f.Why.Chain[:maxChain], f.Why.LeftOut+n-maxChain
	}
	p.Timeline, p.RowsLeft = c.drawRows()
	if c.series.tokens {
		p.Tokens = c.chart("Tokens in and out", func(at point) float64 { return float64(at.tokens) }, func(v float64) string { return screen.Count(int64(v)) })
	}
	if c.series.usd {
		p.Cost = c.chart("Cost", func(at point) float64 { return at.cost }, screen.Dollars)
	}
	p.Stages = stages(s, f.Metrics)
	c.head(p)
	for i := range s.Late {
		p.Late = append(p.Late, strings.TrimPrefix(fmt.Sprintf("%s, iteration %d: %s", s.Late[i].Stage, s.Late[i].Iteration, screen.Late(s.Late[i].LateDeliveryData)), ", "))
	}
	p.Outputs, p.OutputsLeft = c.outputs(f)
	return p
}

// head adds the lines at the head of the page.
func (c *Collector) head(p *page) {
	add := func(name, value string) {
		if value != "" {
			p.Head = append(p.Head, namedText{name, c.line(value)})
		}
	}
	s, m := p.Status, p.Metrics
	if m != nil {
		p.Pipeline = m.Pipeline
		add("Duration", screen.DurationText(time.Duration(m.DurationMS)*time.Millisecond))
		add("Iterations", screen.Count(int64(m.Iterations)))
		add("Attempts", fmt.Sprintf("%s, %d retries", screen.Count(int64(m.Attempts)), m.Retries))
		add("Tokens", cmp.Or(tokens(m.Usage), "unknown"))
		add("Cost", cmp.Or(cost(m.Usage), "unknown"))
		for _, cycle := range m.Cycles {
			add("Cycle", fmt.Sprintf("%s %d/%d", cycle.Edge, cycle.Count, cycle.Limit))
		}
	}
	add("Errors", fmt.Sprint(s.Health.Errors))
	add("Health", fmt.Sprintf("%s (%.2f)", s.Health.Label, s.Health.Score))
	add("Started", clock(s.StartedAt))
	if s.EndedAt != nil {
		add("Ended", clock(*s.EndedAt))
	}
	add("Run", s.RunID)
	add("Events", screen.Count(s.Events))
	add("Directory", s.Dir)
	add("Damage", s.Damage)
	for _, text := range cli.IsolationLines(s.Plugins) {
		add("Sandbox", text)
	}
	add("Journal", s.Tampered)
	add("Measured", screen.Unmeasured(s.Unmeasured))
	if s.Deliverable != nil {
		add("Delivered", s.Deliverable.Artifact)
	}
}

func stages(s *engine.Status, m *engine.Metrics) []stage {
	var rows []stage
	for i := range s.Stages {
		r := &s.Stages[i]
		row := stage{ID: r.ID, Status: cmp.Or(r.Outcome, r.Status), Reason: r.Reason, Iterations: r.Iterations}
		if r.Status == "running" && s.Status != "running" { // the node waits with the session
			row.Status = string(s.Status)
		}
		row.Class = outcomeClass(row.Status)
		if r.Status == "running" {
			row.Class = "open"
		}
		if strings.Contains(r.Path, ".") {
			row.ID = "↳ " + row.ID
		}
		if at := m.Stage(r.Path); at != nil {
			row.Attempts, row.Retries, row.Visits = at.Attempts, at.Retries+at.StageRetries, at.Visits
			row.Duration, row.Tokens, row.Cost = screen.DurationText(time.Duration(at.DurationMS)*time.Millisecond), tokens(at.Usage), cost(at.Usage)
		}
		rows = append(rows, row)
	}
	return rows
}
