package statefile

import (
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
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
	// Status is open, answered (the run has not applied the answer yet) or closed.
	Status         string      `json:"status"`
	Kind           string      `json:"kind"`               // see package event
	Stage          string      `json:"stage,omitempty"`    // id of the node, "" for the session
	Provider       string      `json:"provider,omitempty"` // of the parallel block
	Text           string      `json:"text"`
	Code           string      `json:"code,omitempty"` // error code of the escalation
	Remedy         string      `json:"remedy,omitempty"`
	Escalation     string      `json:"escalation,omitempty"` // id of the newest escalation file, "" for other questions
	Options        []string    `json:"options"`
	AcceptFeedback bool        `json:"accept_feedback"`
	Preview        string      `json:"preview,omitempty"`
	Shown          []event.Ref `json:"shown,omitempty"` // the files as shown; a path outside the session is absolute
	Digest         string      `json:"digest"`
	AskedAt        string      `json:"asked_at"`
	Due            string      `json:"due,omitempty"`
	// The members below describe a tool call, see [event.AskedCall].
	Type      string   `json:"type,omitempty"`      // approval_request
	Operation string   `json:"operation,omitempty"` // category of the call
	Tool      string   `json:"tool,omitempty"`
	Paths     []string `json:"files,omitempty"`
	Command   string   `json:"command,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Risk      string   `json:"risk,omitempty"`
	Rule      string   `json:"rule,omitempty"`
	// The members below are the last answer to the current text. A closed question without an answer was dropped.
	Answer     string `json:"answer,omitempty"`
	AnsweredBy string `json:"answered_by,omitempty"`
	AnsweredAt string `json:"answered_at,omitempty"`
	AnswerText string `json:"answer_text,omitempty"`
	Expired    bool   `json:"expired,omitempty"` // no answer in time
}

// approvalRequest is the Type of a question about a tool call.
const approvalRequest = "approval_request"

// These constants are the values of [Question.Status].
const (
	QuestionOpen     = "open"
	QuestionAnswered = "answered"
	QuestionClosed   = "closed"
)

// questions keeps the files of a session's questions and escalations. An escalation gets a new file each time it is
// asked, since a question may be asked again under the same id.
type questions struct {
	newest      map[string]*questionFile   // questions as last asked, by the id of the question
	escalations map[string]*escalationFile // by the id of the escalation
}

type questionFile struct {
	Question
	askedAt time.Time
	behind  bool // the file is or may be older than the state
}

type escalationFile struct {
	question.File
	behind bool // the file is or may be older than the state
}

// observe applies an event and the state after it.
func (all *questions) observe(p *plan.Plan, e event.Event, st state.State) {
	all.follow(p, st)
	if e.Type != event.QuestionAnswered {
		return
	}
	d, err := event.Decode[event.QuestionAnsweredData](e)
	if err != nil {
		return
	}
	f, known := all.newest[d.ID]
	if !known {
		return
	}
	if f.Digest == d.Digest {
		f.answer(state.Answer{Option: d.Answer, Text: d.Text, By: d.By, At: e.Time})
		f.Expired = d.Expired
	}
	if asking := all.escalations[f.Escalation]; asking != nil && asking.Status == question.Pending {
		asking.answer(d, e.Time)
	}
}

// follow adds the new questions of a state.
func (all *questions) follow(p *plan.Plan, st state.State) {
	for id, q := range st.Questions {
		if f, known := all.newest[id]; known && f.askedAt.Equal(q.AskedAt) {
			continue
		}
		if all.newest == nil {
			all.newest, all.escalations = map[string]*questionFile{}, map[string]*escalationFile{}
		}
		stage, provider := "", ""
		if _, at, _, ok := q.Key.Parse(); ok {
			if n := p.Find(at.Node); n != nil {
				stage, provider = n.ID, at.Branch
			}
		}
		all.newest[id] = newQuestionFile(Question{ID: id, Session: st.Session, Stage: stage, Provider: provider}, q)
		if q.Escalation != "" {
			all.escalations[q.Escalation] = &escalationFile{behind: true, File: question.File{
				ID: q.Escalation, RunID: st.RunID, Session: st.Session, Question: id, Stage: stage, Provider: provider, Details: q, Status: question.Pending,
			}}
		}
	}
}

// newQuestionFile returns f completed with the members of q, the question in the state.
func newQuestionFile(f Question, q state.Question) *questionFile {
	f.Kind, f.Text, f.Options, f.AcceptFeedback, f.Preview, f.Shown = q.Kind, q.Text, q.Options, q.AcceptFeedback, q.Preview, q.Shown
	f.Digest, f.AskedAt, f.Due, f.Code, f.Remedy, f.Escalation = q.Digest, stamp(q.AskedAt), timestamp(q.Due), q.Code, q.Remedy, q.Escalation
	if c := q.Call; c != nil {
		f.Type, f.Tool, f.Operation, f.Command, f.Paths = approvalRequest, c.Tool, c.Operation, c.Command, c.Paths
		f.Reason, f.Risk, f.Rule = c.Reason, c.Risk, c.Rule
	}
	file := &questionFile{Question: f, askedAt: q.AskedAt, behind: true}
	if q.Answer != nil {
		file.answer(*q.Answer)
	}
	return file
}

func (f *questionFile) answer(a state.Answer) {
	f.Answer, f.AnsweredBy, f.AnsweredAt, f.AnswerText, f.behind = a.Option, a.By, stamp(a.At), a.Text, true
}

func (f *escalationFile) answer(d event.QuestionAnsweredData, at time.Time) {
	status := question.Resolved
	switch {
	case d.Expired:
		status = question.Expired
	case d.Answer == event.AnswerReject:
		status = question.Rejected
	}
	f.resolve(status, d.Text, d.By, at)
}

func (f *escalationFile) resolve(status question.Status, text, by string, at time.Time) {
	f.Status, f.Resolution = status, &question.Resolution{Abort: status != question.Resolved, Context: text}
	f.By, f.ResolvedAt, f.behind = by, at, true
}

// write writes the files that are older than a state; at is the time of the newest event. The first call writes all
// files, because a crash may have come between the journal and a file.
func (all *questions) write(dir *store.Dir, p *plan.Plan, st state.State, at time.Time) error {
	all.follow(p, st)
	var errs []error
	for id, f := range all.newest {
		f.update(st)
		errs = append(errs, writeBehind(dir, store.QuestionFile(id), &f.behind, func() ([]byte, error) {
			text, err := render(f.Question, "")
			return append(text, '\n'), err
		}))
	}
	for id, f := range all.escalations {
		f.update(st, at)
		errs = append(errs, writeBehind(dir, store.EscalationFile(id), &f.behind, func() ([]byte, error) { return question.Render(f.File) }))
	}
	return errors.Join(errs...)
}

// writeBehind writes a file if behind is set, and clears behind unless the write fails.
func writeBehind(dir *store.Dir, name string, behind *bool, render func() ([]byte, error)) error {
	if !*behind {
		return nil
	}
	text, err := render()
	if err == nil {
		err = dir.Replace(name, text)
	}
	*behind = err != nil
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// update brings status and due time up to date with the state.
func (f *questionFile) update(st state.State) {
	q, open := st.Questions[f.ID]
	status, due := QuestionClosed, f.Due
	if open {
		status, due = QuestionOpen, timestamp(q.Due)
	}
	if open && q.Answer != nil {
		status = QuestionAnswered
	}
	if status != f.Status || due != f.Due {
		f.Status, f.Due, f.behind = status, due, true
	}
}

// update brings a pending escalation up to date with the state. If its question is closed without an answer, a resume
// or the end of the run has closed it.
func (f *escalationFile) update(st state.State, at time.Time) {
	if f.Status != question.Pending {
		return
	}
	q, open := st.Questions[f.Question]
	switch {
	case open && q.Escalation == f.ID:
		if timestamp(q.Due) != timestamp(f.Details.Due) {
			f.Details.Due, f.behind = q.Due, true
		}
	case st.Status == state.Aborted:
		f.resolve(question.Rejected, "", "", at)
	default:
		f.resolve(question.Resolved, "", "", at)
	}
}
