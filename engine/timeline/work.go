package timeline

import (
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// addWork adds an event about iterations, attempts, decisions or questions.
func (t *Timeline) addWork(e *Entry) {
	at := e.Location
	at.Iteration = 0
	l := t.loops[at]
	if l == nil {
		l = &loop{}
	}
	e.Iteration = l.iteration
	switch e.Type {
	case event.IterationStart:
		t.loops[at] = l
		decode(e, func(d event.IterationStartData) { l.begin(e, d) })
		l.beginAttempt(e)
	case event.AttemptStart:
		t.loops[at] = l
		l.beginAttempt(e)
	case event.Retry:
		t.loops[at] = l
		l.beginAttempt(e)
		decode(e, func(d event.RetryData) { t.addRetry(e, d) })
	case event.IterationComplete:
		t.loops[at] = l
		t.addUsage(e)
		decode(e, func(d event.IterationCompleteData) { l.complete(e, d) })
	case event.AttemptComplete, event.StrategyAnswer:
		t.addUsage(e)
	case event.Error:
		if e.Key.Kind() != event.KeyAttempt || l.attempts[e.Key] { // one without budget fails without having begun
			t.addUsage(e)
		}
		decode(e, func(d event.FailureData) { t.addFailure(e, d) })
	case event.Decision:
		decode(e, func(d event.DecisionData) {
			e.Decision = &d
			if it := e.Iteration; it != nil && it.Location.Iteration == e.Location.Iteration && d.Action != "ask" {
				it.Decision = &d
			}
		})
	case event.ParallelProviderComplete, event.ParallelProviderFailed:
		decode(e, func(d event.ProviderCompleteData) { e.Provider = &d })
	case event.NodeComplete:
		decode(e, func(d event.NodeCompleteData) { e.NodeEnd = &d })
	case event.QuestionAsked:
		decode(e, func(d event.QuestionAskedData) {
			e.NewQuestion = &Question{QuestionAskedData: d, At: e.Time, Location: e.Location, Name: e.Name}
			t.questions[d.ID] = e.NewQuestion
		})
	case event.QuestionAnswered:
		decode(e, func(d event.QuestionAnsweredData) {
			if q := t.questions[d.ID]; q != nil {
				q.Answer, q.AnsweredAt, e.Answered = &d, e.Time, q
				delete(t.questions, d.ID)
			}
		})
	}
}

// decode passes the payload of an event on, unless it cannot be decoded.
func decode[T any](e *Entry, add func(T)) {
	if d, err := event.Decode[T](e.Event); err == nil {
		add(d)
	}
}

// begin begins an iteration, or repeats it after a crash.
func (l *loop) begin(e *Entry, d event.IterationStartData) {
	it := l.iteration
	if it == nil || it.Location.Iteration != e.Location.Iteration || !it.End.IsZero() {
		it = newIteration(e, e.Time)
		l.iteration, e.Iteration, e.Began = it, it, true
	}
	if it.Stage == "" || strings.HasPrefix(it.Stage, "node ") {
		it.Stage = d.Stage
	}
	it.Provider, it.Model = d.Provider, d.Model
	it.Attempts++
}

func newIteration(e *Entry, start time.Time) *Iteration {
	return &Iteration{Location: e.Location, Stage: e.Name, Start: start}
}

// beginAttempt adds the key of an attempt that begins.
func (l *loop) beginAttempt(e *Entry) {
	if l.attempts == nil || l.number != e.Location.Iteration {
		l.number, l.attempts = e.Location.Iteration, map[event.Key]bool{}
	}
	l.attempts[e.Key] = true
}

// complete ends an iteration. The Bash engine, and a node with steps, have no event for its begin.
func (l *loop) complete(e *Entry, d event.IterationCompleteData) {
	it := l.iteration
	if it == nil || it.Location.Iteration != e.Location.Iteration {
		it = newIteration(e, e.Time.Add(-time.Duration(d.DurationMS)*time.Millisecond))
		l.iteration, e.Iteration, e.Began = it, it, true
	}
	it.End, it.Result, e.Completed = e.Time, &d, true
	if d.Model != "" {
		it.Model = d.Model
	}
}

// addRetry adds what followed the last failure.
func (t *Timeline) addRetry(e *Entry, d event.RetryData) {
	e.Retry = &d
	if e.Iteration != nil && d.Rung != event.RungStage {
		e.Iteration.Attempts++
	}
	if t.failure != nil {
		t.failure.Retry = &d
	}
}

func (t *Timeline) addFailure(e *Entry, d event.FailureData) {
	if it := e.Iteration; it != nil && it.End.IsZero() {
		it.Failure, it.FailedAt = &d, e.Time
	}
	e.Failure = &Failure{FailureData: d, At: e.Time, Location: e.Location, Name: e.Name}
	e.Failure.Attempt = max(d.Attempt, e.Attempt)
	t.failure = e.Failure
}

// addUsage counts an attempt or a strategy's question that has ended, and its consumption. The end of an iteration under a
// contract is no attempt, and neither is a failure outside of one: their keys show it.
func (t *Timeline) addUsage(e *Entry) {
	isQuestion, kind := e.Type == event.StrategyAnswer, e.Key.Kind()
	if !isQuestion && kind != event.KeyAttempt && (kind != "" || e.RunID != "") {
		return
	}
	d, err := event.Decode[struct {
		Usage *event.Usage `json:"usage"`
	}](e.Event)
	if err != nil {
		return
	}
	e.Usage = d.Usage
	if e.Iteration != nil {
		e.Iteration.Usage = e.Iteration.Usage.Plus(d.Usage)
	}
	if e.Cursor == nil || t.last[e.Cursor.NodePath] == nil {
		return
	}
	for _, v := range t.around(e.Cursor.NodePath) {
		if !isQuestion {
			v.Attempts++
		}
		v.use(d.Usage)
	}
}
