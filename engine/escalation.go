package engine

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Escalation is how a question of kind escalation is answered by a file. Whoever holds the session finds that, and so
// does a resume.
type Escalation struct {
	ID   string `json:"id"`   // ESC-<yyyymmddHHMMSS>[-n]
	File string `json:"file"` // absolute path of the escalation
	// Resolution is the absolute path of the file that answers it, and Example what that may hold: abort, which ends the
	// session, and context, which the next prompts are told.
	Resolution string `json:"resolution_file"`
	Example    string `json:"example"`
	// Resolved: the file is there, and the run has not taken it up yet. Faults keep it from being an answer.
	Resolved bool        `json:"resolved,omitempty"`
	Faults   Diagnostics `json:"faults,omitempty"`
}

func escalationOf(q state.Question, dir *store.Dir) *Escalation {
	e := &Escalation{
		ID: q.Escalation, File: dir.Abs(store.EscalationFile(q.Escalation)), Resolution: dir.Abs(store.ResolutionFile(q.Escalation)),
		Example: question.Example,
	}
	if f, there := question.Read(dir, q.Escalation); there && q.Answer == nil {
		e.Resolved, e.Faults = len(f.Faults) == 0, f.Faults
	}
	return e
}

// openEscalations are those of a state that nobody has answered, in the order of their questions' ids.
func openEscalations(p *plan.Plan, st state.State) []question.Open {
	var open []question.Open
	for _, id := range st.Awaited() {
		q := st.Questions[id]
		if q.Escalation == "" {
			continue
		}
		poll := float64(plan.DefaultEscalationPoll)
		_, at, _, _ := q.Key.Parse()
		if e := p.PolicyOf(p.Find(at.Node)).Escalation; e != nil && e.Poll > 0 {
			poll = e.Poll
		}
		open = append(open, question.Open{ID: q.Escalation, Question: id, Digest: q.Digest, Poll: time.Duration(poll * float64(time.Second))})
	}
	return open
}

// resolutions are the answers that lie there for the open escalations; with faults there are none.
func (s *session) resolutions() ([]event.Event, Diagnostics) {
	var answers []event.Event
	var faults Diagnostics
	for _, o := range openEscalations(s.plan, s.state) {
		f, there := question.Read(s.dir, o.ID)
		if !there {
			continue
		}
		if len(f.Faults) == 0 {
			answers = append(answers, resolved(o, f.Resolution))
		}
		faults = append(faults, f.Faults...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return answers, nil
}

// resolved is the answer that a resolution gives.
func resolved(o question.Open, r question.Resolution) event.Event {
	d := event.QuestionAnsweredData{ID: o.Question, Digest: o.Digest, Answer: event.AnswerApprove, Text: r.Context, By: path.Base(store.ResolutionFile(o.ID))}
	if r.Abort {
		d.Answer, d.Text = event.AnswerReject, ""
	}
	return event.New(event.QuestionAnswered, nil, "", d)
}

// takeResolutions takes up the resolutions that were written while nobody held the session.
func (s *session) takeResolutions(ctx context.Context) error {
	answers, faults := s.resolutions()
	if len(faults) > 0 { // changed since they were looked at
		return faults
	}
	for _, e := range answers {
		if err := s.take(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// followEscalations tells whoever looks for resolutions which escalations are open now.
func (s *session) followEscalations(st state.State) {
	open := openEscalations(s.plan, st)
	if slices.Equal(open, s.escalated) {
		return
	}
	s.escalated = open
	select {
	case <-s.escalations: // nobody has heard of the last ones
	default:
	}
	s.escalations <- open
}

// answers returns what looks for the resolutions that are written while the session is held, passes them on, and says when to
// look again. What is written and is no answer is told, once for each content: the run waits on.
func (s *session) answers(pass func(event.Event) bool) (look func([]question.Open) <-chan time.Time) {
	files := question.NewWatch(s.dir)
	return func(open []question.Open) <-chan time.Time {
		return files.Look(open, func(o question.Open, f question.Found) {
			if len(f.Faults) == 0 {
				pass(resolved(o, f.Resolution))
				return
			}
			for i := range f.Faults {
				f.Faults[i].Severity = yamldoc.SeverityWarning
			}
			faults := s.engine.clean(f.Faults)
			s.log.Debug("a resolution is not understood; the session waits on", "escalation", o.ID, "faults", faults.Error())
			s.send(Update{Session: s.name, Warnings: faults, Plan: s.plan, Dir: s.dir.Path()})
		})
	}
}
