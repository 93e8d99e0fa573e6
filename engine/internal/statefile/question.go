package statefile

import (
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Question is questions/<id>.json: a question to the user and its result. Like state.json it is derived from the
// journal.
type Question struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	// Status is open, answered (the run has not taken the answer up yet) or closed.
	Status         string      `json:"status"`
	Kind           string      `json:"kind"`               // see package event
	Stage          string      `json:"stage,omitempty"`    // id of the node, "" for the session
	Provider       string      `json:"provider,omitempty"` // of the parallel block
	Text           string      `json:"text"`
	Code           string      `json:"code,omitempty"` // error code of the escalation
	Remedy         string      `json:"remedy,omitempty"`
	Escalation     string      `json:"escalation,omitempty"` // id of the newest escalation that it is
	Options        []string    `json:"options"`
	AcceptFeedback bool        `json:"accept_feedback"`
	Preview        string      `json:"preview,omitempty"`
	Shown          []event.Ref `json:"shown,omitempty"` // as they were then; of files outside the session the path is absolute
	Digest         string      `json:"digest"`
	AskedAt        string      `json:"asked_at"`
	Due            string      `json:"due,omitempty"`
	// Of a tool call: what it is and does, see [event.AskedCall].
	Type      string   `json:"type,omitempty"`      // approval_request
	Operation string   `json:"operation,omitempty"` // its category
	Tool      string   `json:"tool,omitempty"`
	Paths     []string `json:"files,omitempty"`
	Command   string   `json:"command,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Risk      string   `json:"risk,omitempty"`
	Rule      string   `json:"rule,omitempty"`
	// The last answer to the current text. A closed question without one was dropped.
	Answer     string `json:"answer,omitempty"`
	AnsweredBy string `json:"answered_by,omitempty"`
	AnsweredAt string `json:"answered_at,omitempty"`
	AnswerText string `json:"answer_text,omitempty"`
	Expired    bool   `json:"expired,omitempty"` // no answer in time
}

// approvalRequest is what seed 002 calls a question about a tool call.
const approvalRequest = "approval_request"

// The conditions of a question.
const (
	QuestionOpen     = "open"
	QuestionAnswered = "answered"
	QuestionClosed   = "closed"
)

// questions are all questions of the session, by id.
type questions map[string]*questionFile

type questionFile struct {
	Question
	behind bool // the file is, or may be
}

// observe applies an event about a question; escalation is the id of the escalation that it asks, "" for none.
func (all questions) observe(p *plan.Plan, e event.Event, escalation string) {
	switch e.Type {
	case event.QuestionAsked:
		d, err := event.Decode[event.QuestionAskedData](e)
		if err != nil {
			return
		}
		all.put(p, e.Session, d.ID, state.Question{
			Kind: d.Kind, Digest: d.Digest, Key: e.Key,
			QuestionText: state.QuestionText{
				Text: d.Text, Options: d.Options, AcceptFeedback: d.AcceptFeedback, Preview: d.Preview, Shown: d.Shown,
			},
			AskedAt: e.Time, Due: d.Due, Code: d.Code, Remedy: d.Remedy, Call: d.Call, Escalation: escalation,
		})
	case event.QuestionAnswered:
		d, err := event.Decode[event.QuestionAnsweredData](e)
		if q, asked := all[d.ID]; err == nil && asked && q.Digest == d.Digest {
			q.answer(state.Answer{Option: d.Answer, Text: d.Text, By: d.By, At: e.Time})
			q.Expired = d.Expired
		}
	}
}

func (all questions) put(p *plan.Plan, session, id string, q state.Question) {
	f := &questionFile{behind: true, Question: Question{
		ID: id, Session: session, Kind: q.Kind, Text: q.Text, Options: q.Options, AcceptFeedback: q.AcceptFeedback,
		Preview: q.Preview, Shown: q.Shown, Digest: q.Digest, AskedAt: stamp(q.AskedAt), Due: timestamp(q.Due), Code: q.Code,
		Remedy: q.Remedy, Escalation: q.Escalation,
	}}
	if c := q.Call; c != nil {
		f.Type, f.Tool, f.Operation, f.Command, f.Paths = approvalRequest, c.Tool, c.Operation, c.Command, c.Paths
		f.Reason, f.Risk, f.Rule = c.Reason, c.Risk, c.Rule
	}
	if _, at, _, ok := q.Key.Parse(); ok {
		if n := p.Find(at.Node); n != nil {
			f.Stage, f.Provider = n.ID, at.Branch
		}
	}
	if q.Answer != nil {
		f.answer(*q.Answer)
	}
	all[id] = f
}

func (f *questionFile) answer(a state.Answer) {
	f.Answer, f.AnsweredBy, f.AnsweredAt, f.AnswerText, f.behind = a.Option, a.By, stamp(a.At), a.Text, true
}

// write writes the files that are behind a state. The first time that is all of them: a crash may have come between the
// journal and a file.
func (all questions) write(dir *store.Dir, p *plan.Plan, st state.State) error {
	for id, q := range st.Questions {
		if _, known := all[id]; !known { // of an imported state
			all.put(p, st.Session, id, q)
		}
	}
	var errs []error
	for id, f := range all {
		if status := questionStatus(st, id); status != f.Status {
			f.Status, f.behind = status, true
		}
		if q, open := st.Questions[id]; open && timestamp(q.Due) != f.Due {
			f.Due, f.behind = timestamp(q.Due), true
		}
		if !f.behind {
			continue
		}
		text, err := render(f.Question, "")
		if err == nil {
			err = dir.Replace(store.QuestionFile(id), append(text, '\n'))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write question %s: %w", id, err))
		}
		f.behind = err != nil
	}
	return errors.Join(errs...)
}

func questionStatus(st state.State, id string) string {
	switch q, open := st.Questions[id]; {
	case !open:
		return QuestionClosed
	case q.Answer != nil:
		return QuestionAnswered
	default:
		return QuestionOpen
	}
}
