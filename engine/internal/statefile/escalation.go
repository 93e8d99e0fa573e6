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

// escalations are the files of all that the session ever asked as an escalation, each asking with one of its own: a
// question may be asked again under the same id.
type escalations struct {
	newest string // the id that was given last, see [state.EscalationName]
	files  map[string]*escalationFile
}

type escalationFile struct {
	question.File
	behind bool // the file is, or may be
}

// observe applies an event about an escalation, and returns the id of the one that it asks, "" for none.
func (all *escalations) observe(p *plan.Plan, e event.Event) string {
	switch e.Type {
	case event.SessionImported:
		d, err := event.Decode[event.SessionImportedData](e)
		if st, unread := state.Parse(d.State); err == nil && unread == nil {
			all.newest = st.Escalation
		}
	case event.QuestionAsked:
		d, err := event.Decode[event.QuestionAskedData](e)
		if err != nil || d.Kind != event.QuestionEscalation {
			return ""
		}
		all.newest = state.EscalationName(all.newest, e.Time)
		q := state.Question{
			Kind: d.Kind, Key: e.Key, QuestionText: state.QuestionText{Text: d.Text, Options: d.Options, Shown: d.Shown},
			AskedAt: e.Time, Code: d.Code, Remedy: d.Remedy, Escalation: all.newest,
		}
		if d.TimeLimit > 0 {
			due := e.Time.Add(d.TimeLimit)
			q.Due = &due
		}
		all.put(p, e.Session, e.RunID, d.ID, q)
		return all.newest
	case event.QuestionAnswered:
		d, err := event.Decode[event.QuestionAnsweredData](e)
		if f := all.pending(d.ID); err == nil && f != nil {
			f.answer(d, e.Time)
		}
	}
	return ""
}

func (all *escalations) put(p *plan.Plan, session, runID, asked string, q state.Question) {
	f := &escalationFile{behind: true, File: question.File{
		ID: q.Escalation, RunID: runID, Session: session, Question: asked, Issue: q.Text, Code: q.Code, Remedy: q.Remedy,
		Files: q.Shown, Options: q.Options, CreatedAt: q.AskedAt, Due: q.Due, Status: question.Pending,
	}}
	if _, at, _, ok := q.Key.Parse(); ok {
		if n := p.Find(at.Node); n != nil {
			f.Stage, f.Provider = n.ID, at.Branch
		}
	}
	if all.files == nil {
		all.files = map[string]*escalationFile{}
	}
	all.files[q.Escalation] = f
}

// pending is the escalation that the question is now, nil if none waits.
func (all *escalations) pending(asked string) *escalationFile {
	for _, f := range all.files {
		if f.Question == asked && f.Status == question.Pending {
			return f
		}
	}
	return nil
}

func (f *escalationFile) answer(d event.QuestionAnsweredData, at time.Time) {
	switch {
	case d.Expired:
		f.Status = question.Expired
	case d.Answer == event.AnswerReject:
		f.Status = question.Rejected
	default:
		f.Status = question.Resolved
	}
	f.resolve(question.Resolution{Abort: f.Status != question.Resolved, Context: d.Text}, d.By, at)
}

func (f *escalationFile) resolve(r question.Resolution, by string, at time.Time) {
	f.Resolution, f.By, f.ResolvedAt, f.behind = &r, by, at, true
}

// write writes the files that are older than a state, at a time. A closed one without an answer was settled by the
// resume or the end of the run.
func (all *escalations) write(dir *store.Dir, p *plan.Plan, st state.State, at time.Time) error {
	for id, q := range st.Questions {
		if _, known := all.files[q.Escalation]; q.Escalation != "" && !known { // of an imported state
			all.put(p, st.Session, st.RunID, id, q)
		}
	}
	var errs []error
	for id, f := range all.files {
		f.followUp(st, at)
		if !f.behind {
			continue
		}
		text, err := question.Render(f.File)
		if err == nil {
			err = dir.Replace(store.EscalationFile(id), text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write escalation %s: %w", id, err))
		}
		f.behind = err != nil
	}
	return errors.Join(errs...)
}

// followUp brings a pending escalation up to the state.
func (f *escalationFile) followUp(st state.State, at time.Time) {
	if f.Status != question.Pending {
		return
	}
	q, open := st.Questions[f.Question]
	switch {
	case open && q.Escalation == f.ID:
		if timestamp(q.Due) != timestamp(f.Due) {
			f.Due, f.behind = q.Due, true
		}
	case st.Status == state.Aborted:
		f.Status = question.Rejected
		f.resolve(question.Resolution{Abort: true}, "", at)
	default:
		f.Status = question.Resolved
		f.resolve(question.Resolution{}, "", at)
	}
}
