package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/locate"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// What is kept of a session, however long it is.
const (
	maxIterations = 1000
	maxRows       = 300 // decisions, questions, failures
	maxLanes      = 60
	maxSpans      = 300 // of a lane
	maxGaps       = 200
)

// Iteration is a row of the table of iterations.
type Iteration struct {
	Stage, Provider, Step string
	Visit, Run, Number    int
	Start                 time.Time
	End                   time.Time // zero: it has not ended
	Duration              time.Duration
	Outcome               string // success, or what else it came to; "failed" where its last attempt did
	Next                  string // what was decided after it
	Summary               string
	Attempts              int
	Model                 string
	Usage                 event.Usage
	output                string // file, relative to the session
	lane                  string
}

// Decision is what a strategy said after an iteration.
type Decision struct {
	At                       time.Time
	Where                    string
	Iteration                int
	Strategy, Action, Reason string
	Confidence               float64
}

// Question is what a person was asked, with the answer.
type Question struct {
	At                          time.Time
	ID, Kind, Where, Text, Code string
	AnsweredAt                  time.Time
	Answer, By, Feedback        string
	Expired                     bool
}

// Failure is an attempt, or a stage, that failed.
type Failure struct {
	At                          time.Time
	Where                       string
	Iteration, Attempt          int
	Code, Type, Message, Remedy string
	Then                        string // what was done about it
}

// Collector takes the events of a session. It is used from one goroutine.
type Collector struct {
	locate *locate.Locator
	clean  func(string) string // takes secrets out

	start time.Time
	seen  time.Time

	rows      bounded[*Iteration]
	at        map[string]*Iteration // by place
	decisions bounded[*Decision]
	questions bounded[*Question]
	asked     map[string]*Question
	failures  bounded[*Failure]
	lanes     lanes
	series    series
	events    int
}

// NewCollector returns a collector for a session whose nodes have the ids, by their paths. clean takes the secrets out of
// a text.
func NewCollector(names map[string]string, clean func(string) string) *Collector {
	c := &Collector{locate: locate.New(names), clean: clean}
	c.reset()
	return c
}

func (c *Collector) reset() {
	*c = Collector{
		locate: c.locate, clean: c.clean, at: map[string]*Iteration{}, asked: map[string]*Question{},
		rows: bounded[*Iteration]{most: maxIterations}, decisions: bounded[*Decision]{most: maxRows},
		questions: bounded[*Question]{most: maxRows}, failures: bounded[*Failure]{most: maxRows}, lanes: lanes{by: map[string]*Lane{}},
	}
}

// Take takes the next event. What a kernel wrote that was overtaken does not count, and what cannot be read says nothing.
func (c *Collector) Take(e event.Event) {
	if !c.locate.Take(e) {
		return
	}
	if e.Type == event.SessionStart {
		c.reset()
		c.start = e.Time
	}
	c.events++
	if e.Type == event.KernelStart && c.events > 2 {
		c.lanes.idle(c.seen, e.Time)
	}
	c.seen = e.Time
	c.spent(e)
	switch e.Type {
	case event.NodeStart:
		if e.Cursor != nil {
			c.lanes.open(e.Time, c.place(e))
		}
	case event.ParallelProviderComplete, event.ParallelProviderFailed:
		read(e, func(d event.ProviderCompleteData) { c.lanes.done(e.Time, c.place(e), d.Status) })
	case event.NodeComplete:
		read(e, func(d event.NodeCompleteData) { c.lanes.close(e.Time, c.place(e), d.Outcome, d.Status) })
	case event.IterationStart:
		c.begins(e)
	case event.IterationComplete:
		read(e, func(d event.IterationCompleteData) { c.ends(e, d) })
	case event.Retry:
		read(e, func(d event.RetryData) { c.retried(e, d) })
	case event.Error:
		read(e, func(d event.FailureData) { c.fails(e, d) })
	case event.Decision:
		read(e, func(d event.DecisionData) { c.decides(e, d) })
	case event.QuestionAsked:
		read(e, func(d event.QuestionAskedData) { c.asks(e, d) })
	case event.QuestionAnswered:
		read(e, func(d event.QuestionAnsweredData) { c.answers(e, d) })
	}
}

// read reads the data of an event.
func read[T any](e event.Event, do func(T)) {
	if d, err := event.Decode[T](e); err == nil {
		do(d)
	}
}

// place is where an event happened, and what that is called.
type place struct {
	event.Location
	name string
}

func (p place) id() string {
	return fmt.Sprint(p.Node, "\x00", p.Visit, "\x00", p.Run, "\x00", p.Branch, "\x00", p.Step)
}

// words are the place for people.
func (p place) words() string {
	text := p.name
	if p.Step != "" {
		text += ", step " + p.Step
	}
	if p.Branch != "" {
		text += " · " + p.Branch
	}
	if p.Visit > 1 {
		text += fmt.Sprintf(" (visit %d)", p.Visit)
	}
	return text
}

func (c *Collector) place(e event.Event) place {
	at := c.locate.Place(e)
	return place{at, c.locate.Name(at.Node)}
}

func (c *Collector) begins(e event.Event) {
	at := c.place(e)
	id := at.id()
	row := &Iteration{
		Stage: at.name, Provider: at.Branch, Step: at.Step, Visit: at.Visit, Run: at.Run, Number: at.Iteration, Start: e.Time, Attempts: 1, Outcome: "running", lane: id,
	}
	read(e, func(d event.IterationStartData) {
		row.Model = d.Model
		if row.Stage == "" || strings.HasPrefix(row.Stage, "node ") {
			row.Stage = d.Stage
		}
	})
	if before := c.at[id]; before != nil && before.Number == at.Iteration && before.End.IsZero() { // begun again after a crash
		before.Attempts++
		c.lanes.begin(e.Time, at)
		return
	}
	c.at[id] = row
	c.rows.add(row)
	c.lanes.begin(e.Time, at)
}

func (c *Collector) ends(e event.Event, d event.IterationCompleteData) {
	at := c.place(e)
	row := c.at[at.id()]
	if row == nil || row.Number != at.Iteration { // of the Bash engine, or of a node with steps
		row = &Iteration{Stage: at.name, Provider: at.Branch, Step: at.Step, Visit: at.Visit, Run: at.Run, Number: at.Iteration, Start: e.Time.Add(-time.Duration(d.DurationMS) * time.Millisecond), lane: at.id()}
		c.at[at.id()] = row
		c.rows.add(row)
	}
	row.End, row.Outcome, row.Summary = e.Time, "success", event.Truncate(d.Summary, 1<<10)
	if d.Outcome != "" {
		row.Outcome = d.Outcome
	}
	if d.Message != "" {
		row.Summary = strings.TrimPrefix(row.Summary+" — "+event.Truncate(d.Message, 1<<10), " — ")
	}
	if d.Model != "" {
		row.Model = d.Model
	}
	if row.Duration = time.Duration(d.DurationMS) * time.Millisecond; row.Duration == 0 {
		row.Duration = e.Time.Sub(row.Start)
	}
	if d.Output != nil {
		row.output = d.Output.Path
	}
	c.lanes.end(e.Time, at, row.Outcome != "success")
}

// spent takes up what was used.
func (c *Collector) spent(e event.Event) {
	kind := e.Key.Kind()
	counts := kind == event.KeyAttempt || kind == "" && e.RunID == ""
	switch e.Type {
	case event.StrategyAnswer:
	case event.IterationComplete, event.AttemptComplete, event.Error:
		if !counts {
			return
		}
	default:
		return
	}
	read(e, func(d struct {
		Usage *event.Usage `json:"usage"`
	},
	) {
		if d.Usage == nil {
			return
		}
		if row := c.at[c.place(e).id()]; row != nil {
			row.Usage = row.Usage.Plus(d.Usage)
		}
		c.series.add(e.Time, *d.Usage)
	})
}

func (c *Collector) retried(e event.Event, d event.RetryData) {
	at := c.place(e)
	if row := c.at[at.id()]; row != nil && d.Rung != event.RungStage {
		row.Attempts++
	}
	c.lanes.begin(e.Time, at)
	if n := len(c.failures.last); n > 0 {
		c.failures.last[n-1].Then = then(d)
	} else if n := len(c.failures.first); n > 0 {
		c.failures.first[n-1].Then = then(d)
	}
}

// then says what was done about a failure.
func then(d event.RetryData) string {
	switch d.Rung {
	case event.RungStage:
		return fmt.Sprintf("the stage began anew (%d of %d)", d.N-1, d.Max-1)
	case event.RungArtifact:
		return "the agent was asked again for its artifact"
	default:
		return fmt.Sprintf("attempt %d of %d", d.N, d.Max)
	}
}

func (c *Collector) fails(e event.Event, d event.FailureData) {
	at := c.place(e)
	if row := c.at[at.id()]; row != nil && row.End.IsZero() {
		row.Outcome, row.Duration = "failed", e.Time.Sub(row.Start)
	}
	c.lanes.end(e.Time, at, true)
	c.failures.add(&Failure{
		At: e.Time, Where: at.words(), Iteration: at.Iteration, Attempt: max(d.Attempt, e.Attempt), Code: d.Code, Type: d.ErrorType,
		Message: event.Truncate(d.Message, 2<<10), Remedy: event.Truncate(d.Remedy, 1<<10),
	})
}

func (c *Collector) decides(e event.Event, d event.DecisionData) {
	if d.Action == "ask" {
		return
	}
	at := c.place(e)
	reason := event.Truncate(d.Reason, 1<<10)
	if row := c.at[at.id()]; row != nil && row.Number == at.Iteration {
		if d.Strategy == "fixed" && strings.HasPrefix(reason, "Completed ") { // the numbers tell
			reason = ""
		}
		row.Next = strings.TrimSuffix(d.Action+": "+reason, ": ")
	}
	if d.Strategy == "fixed" { // it only counts
		return
	}
	if d.Failure != nil && reason == "" {
		reason = event.Truncate(d.Failure.Message, 1<<10)
	}
	c.decisions.add(&Decision{At: e.Time, Where: at.words(), Iteration: at.Iteration, Strategy: d.Strategy, Action: d.Action, Reason: reason, Confidence: d.Confidence})
}

func (c *Collector) asks(e event.Event, d event.QuestionAskedData) {
	at := c.place(e)
	q := &Question{At: e.Time, ID: d.ID, Kind: d.Kind, Where: at.words(), Text: event.Truncate(d.Text, 2<<10), Code: d.Code}
	c.asked[d.ID] = q
	c.questions.add(q)
	if len(c.asked) > 4*maxRows { // answers come soon after, or never
		clear(c.asked)
		c.asked[d.ID] = q
	}
}

func (c *Collector) answers(e event.Event, d event.QuestionAnsweredData) {
	q := c.asked[d.ID]
	if q == nil {
		return
	}
	q.AnsweredAt, q.Answer, q.By, q.Expired, q.Feedback = e.Time, d.Answer, d.By, d.Expired, event.Truncate(d.Text, 2<<10)
}
