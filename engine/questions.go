package engine

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
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

// ErrNoQuestion says that the session has no such question open.
var ErrNoQuestion = errors.New("no such question")

// Question is something that a session asks a person.
type Question struct {
	Session string `json:"session"`
	ID      string `json:"id"`
	Kind    string `json:"kind"` // confirm, supervise, tool, escalation
	// Call is the tool call that it is about, nil for other kinds.
	Call *event.AskedCall `json:"call,omitempty"`
	// Stage is the id of the node that it is about, "" for the session.
	Stage string `json:"stage,omitempty"`
	// Provider is the provider of a parallel block whose work it is about, "" elsewhere.
	Provider string `json:"provider,omitempty"`
	Text     string `json:"text"`
	// Code is that of what made a person needed, for an escalation, and Remedy what can be done about it.
	Code   string `json:"code,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Escalation is how an escalation is answered by a file, nil for other kinds.
	Escalation *Escalation `json:"escalation,omitempty"`
	Options    []string    `json:"options"`
	// AcceptFeedback: a rejection may have a text. It sends the stage back with it; about a tool call the agent is told
	// it, and goes on.
	AcceptFeedback bool `json:"accept_feedback,omitempty"`
	// Preview is the beginning of what it is about, Files are the absolute paths of all of it.
	Preview string   `json:"preview,omitempty"`
	Files   []string `json:"files,omitempty"`
	// Digest binds an answer to what was shown.
	Digest  string    `json:"digest"`
	AskedAt time.Time `json:"asked_at"`
	// Due is by when it is to be answered, and OnTimeout what is done then with an escalation: abort, pause or failed.
	Due       *time.Time `json:"due,omitempty"`
	OnTimeout string     `json:"on_timeout,omitempty"`
	// Answer is what somebody said that the run has not taken up yet, nil: nobody did.
	Answer *state.Answer `json:"answer,omitempty"`
	// Commands answer it, or show all of it.
	Commands QuestionCommands `json:"commands"`
}

// QuestionCommands are command lines about a question. Those that it does not take are empty, and so are the answers
// to one that is answered.
type QuestionCommands struct {
	Approve  string `json:"approve,omitempty"`
	Reject   string `json:"reject,omitempty"`
	Feedback string `json:"feedback,omitempty"` // TEXT stands for what is to be said
	// Skip leaves a tool call out.
	Skip string `json:"skip,omitempty"`
	// SkipFailedStep goes on without the steps of the stage that failed; "" where none did.
	SkipFailedStep string `json:"skip_failed_step,omitempty"`
	Show           string `json:"show"`
}

func commandsOf(q Question) QuestionCommands {
	words := q.Session + " " + q.ID
	c := QuestionCommands{Show: "agent-pipelines questions show " + words}
	if q.Answer != nil {
		return c
	}
	if slices.Contains(q.Options, event.AnswerApprove) {
		c.Approve = "agent-pipelines approve " + words
	}
	if slices.Contains(q.Options, event.AnswerReject) {
		c.Reject = "agent-pipelines reject " + words
		if q.AcceptFeedback {
			c.Feedback = c.Reject + " --feedback TEXT"
		}
	}
	if slices.Contains(q.Options, event.AnswerSkip) {
		c.Skip = "agent-pipelines answer " + words + " " + event.AnswerSkip
	}
	return c
}

// Questions are the questions that a session has open, oldest first, with those that are answered and not taken up
// yet. It takes no lock.
func (e *Engine) Questions(session string) ([]Question, error) {
	s, err := e.Status(session)
	if err != nil {
		return nil, err
	}
	return s.Questions, nil
}

// openQuestions are those that can be answered: what an attempt asks about a tool call dies with its kernel, and is
// asked again.
func openQuestions(k known, dir *store.Dir, held bool) []Question {
	all := questionsOf(k.plan, k.state, dir)
	if !held {
		all = slices.DeleteFunc(all, func(q Question) bool { return q.Kind == event.QuestionTool })
	}
	return all
}

func questionsOf(p *plan.Plan, st state.State, dir *store.Dir) []Question {
	var all []Question
	for _, id := range slices.Sorted(maps.Keys(st.Questions)) {
		all = append(all, questionOf(p, st, id, dir))
	}
	slices.SortStableFunc(all, func(a, b Question) int { return a.AskedAt.Compare(b.AskedAt) })
	return all
}

func questionOf(p *plan.Plan, st state.State, id string, dir *store.Dir) Question {
	q := st.Questions[id]
	asked := Question{
		Session: st.Session, ID: id, Kind: q.Kind, Text: q.Text, Options: q.Options, AcceptFeedback: q.AcceptFeedback,
		Preview: q.Preview, Digest: q.Digest, AskedAt: q.AskedAt, Due: q.Due, Answer: q.Answer, Code: q.Code, Call: q.Call,
		Remedy: q.Remedy,
	}
	if q.Due != nil {
		asked.OnTimeout = q.OnTimeout
	}
	if _, at, _, ok := q.Key.Parse(); ok && p != nil {
		if n := p.Find(at.Node); n != nil {
			asked.Stage, asked.Provider = n.ID, at.Branch
		}
	} else if n := p.Find(q.Node); p != nil && n != nil {
		asked.Stage = n.ID
	}
	for _, f := range q.Shown {
		if !filepath.IsAbs(f.Path) {
			f.Path = dir.Abs(f.Path)
		}
		asked.Files = append(asked.Files, f.Path)
	}
	asked.Commands = commandsOf(asked)
	if q.Escalation != "" {
		asked.Escalation = escalationOf(q, dir)
	}
	if q.Kind == event.QuestionEscalation && q.Answer == nil && stepFailed(st) {
		asked.Commands.SkipFailedStep = "agent-pipelines resume " + st.Session + " --skip-failed-step"
	}
	return asked
}

// stepFailed reports whether the run is at a node of which a step has failed.
func stepFailed(st state.State) bool {
	for _, s := range st.Nodes[st.At].Steps {
		if s.Status == state.StepFailed {
			return true
		}
	}
	return false
}
