package timeline

import (
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Entry is an event in the timeline. Its pointers are nil unless the event is about such a part of the timeline. Later
// events change the parts that the pointers refer to.
type Entry struct {
	event.Event
	// Location is the place of the event, zero for the session as a whole. Name is the id of its node.
	Location event.Location
	Name     string
	// IsNewRun reports that a run of the session begins, which resets the timeline.
	IsNewRun bool
	// IdleSince is the time of the last event before a later kernel started, zero for other events. Work in progress
	// at that time was interrupted.
	IdleSince time.Time
	// Iteration is the current iteration of the event's node, provider and step; Location may name another one. Began
	// and Completed report that the event began or completed Iteration.
	Iteration        *Iteration
	Began, Completed bool
	// Usage is the consumption of the attempt or question that ended.
	Usage *event.Usage
	Payload
	// NewQuestion is the question that the event asks, Answered the question that it answers.
	NewQuestion, Answered *Question
}

// Payload is the decoded payload of an event. Provider ends the work of a provider in a parallel block, NodeEnd ends
// a visit.
type Payload struct {
	Failure  *Failure
	Retry    *event.RetryData
	Decision *event.DecisionData
	Provider *event.ProviderCompleteData
	NodeEnd  *event.NodeCompleteData
}

// Iteration is one iteration of a node, of a provider in a parallel block, or of a step.
type Iteration struct {
	Location event.Location
	Stage    string // id of the node
	// Provider and Model are the requested provider and model. At the end Model is the actual model, if it was
	// reported.
	Provider, Model string
	Start           time.Time
	End             time.Time // zero before the end
	Attempts        int       // begun so far, 0 if the journal has none
	Usage           event.Usage
	// Failure is the error of the last failed attempt, at FailedAt. Result is the result at the end. Decision is the
	// termination strategy's reply.
	Failure  *event.FailureData
	FailedAt time.Time
	Result   *event.IterationCompleteData
	Decision *event.DecisionData
}

// Duration returns the duration in the iteration's result, else the time from the start to the end or to the last
// failure. It is 0 before an end or a failure.
func (it *Iteration) Duration() time.Duration {
	switch {
	case it.Result != nil && it.Result.DurationMS != 0:
		return time.Duration(it.Result.DurationMS) * time.Millisecond
	case it.Result != nil:
		return it.End.Sub(it.Start)
	case it.Failure != nil:
		return it.FailedAt.Sub(it.Start)
	default:
		return 0
	}
}

// Failure is a failed attempt or node, with the retry that followed.
type Failure struct {
	event.FailureData
	At       time.Time
	Location event.Location
	Name     string           // id of the node
	Retry    *event.RetryData // nil if nothing was retried
}

// Question is a question to the user.
type Question struct {
	event.QuestionAskedData
	At         time.Time
	Location   event.Location
	Name       string                      // id of the node
	Answer     *event.QuestionAnsweredData // nil before the answer
	AnsweredAt time.Time
	// Unprotected means that an agent of the run can read the user's signing key, so that the answer may be its own.
	Unprotected bool
}

// loop is the work at a location: its current iteration, and the keys of the iteration's attempts that have begun.
type loop struct {
	iteration *Iteration
	number    int
	attempts  map[event.Key]bool
}

// decode passes the decoded payload of an event to add, and skips a payload that cannot be decoded.
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

// complete ends an iteration. The Bash engine and nodes with steps have no event for the beginning of an iteration.
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

// On returns a function that passes an entry and its decoded payload to handle. It skips an entry that cannot be
// decoded. Readers keep tables of such functions by type of event.
func On[R, D any](handle func(R, Entry, D)) func(R, Entry) {
	return func(reader R, e Entry) {
		if d, err := event.Decode[D](e.Event); err == nil {
			handle(reader, e, d)
		}
	}
}
