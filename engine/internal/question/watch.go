package question

import (
	"path"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Open is an escalation that waits for an answer.
type Open struct {
	ID       string
	Question string        // id of the escalation's question
	Digest   string        // of everything that the question shows
	Poll     time.Duration // time between two reads of the file, more than 0
}

// Unanswered returns the unanswered escalations of a state, ordered by question id.
func Unanswered(p *plan.Plan, st state.State) []Open {
	var open []Open
	for _, id := range st.UnansweredQuestions() {
		q := st.Questions[id]
		if q.Escalation == "" {
			continue
		}
		poll := float64(plan.DefaultEscalationPoll)
		_, at, _, _ := q.Key.Parse()
		if e := p.EffectivePolicy(p.Find(at.Node)).Escalation; e != nil && e.Poll > 0 {
			poll = e.Poll
		}
		open = append(open, Open{ID: q.Escalation, Question: id, Digest: q.Digest, Poll: plan.Seconds(poll)})
	}
	return open
}

// Answer converts a resolution of the escalation into an event.
func (o Open) Answer(r Resolution) event.Event {
	d := event.QuestionAnsweredData{ID: o.Question, Digest: o.Digest, By: path.Base(store.ResolutionFile(o.ID))}
	d.Answer, d.Text = r.Answer()
	return event.New(event.QuestionAnswered, nil, "", d)
}

// Watch looks for the resolutions of open escalations. Only one goroutine may use it.
type Watch struct {
	dir      *store.Dir
	reported map[string]string    // digest of the latest file, by escalation
	next     map[string]time.Time // time of the next read, by escalation
}

// NewWatch returns a watch of a session's resolutions that has reported none yet.
func NewWatch(d *store.Dir) *Watch {
	return &Watch{dir: d, reported: map[string]string{}, next: map[string]time.Time{}}
}

// Poll calls report for each new content of a file, one call at a time. It skips an escalation whose Poll has not
// passed since its last read.
func (w *Watch) Poll(open []Open, report func(Open, ResolutionFile)) {
	now := time.Now()
	for _, o := range open {
		if now.Before(w.next[o.ID]) {
			continue
		}
		w.next[o.ID] = now.Add(o.Poll)
		if f, found := Read(w.dir, o.ID); found && w.reported[o.ID] != f.Digest {
			w.reported[o.ID] = f.Digest
			report(o, f)
		}
	}
}
