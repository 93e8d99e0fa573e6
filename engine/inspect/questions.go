package inspect

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Escalation describes how to answer an escalation with a file. A running session and a resume both read that
// file.
type Escalation struct {
	ID   string `json:"id"`   // ESC-<yyyymmddHHMMSS>[-n]
	File string `json:"file"` // absolute path of the escalation file
	// Resolution is the absolute path of the answering file, "" in a session with a sandbox, which is answered with a
	// file by [QuestionCommands].FromFile alone. Example shows the content of the file: abort ends the session, context
	// is added to the next prompts.
	Resolution string `json:"resolution_file"`
	Example    string `json:"example"`
	// Resolved reports that the file exists, is valid and has not been applied yet. Faults lists the reasons why the
	// file is invalid.
	Resolved bool                `json:"resolved,omitempty"`
	Faults   yamldoc.Diagnostics `json:"faults,omitempty"`
}

func newEscalation(program string, st state.State, id string, dir *store.Dir) *Escalation {
	q := st.Questions[id]
	e := &Escalation{ID: q.Escalation, File: dir.Abs(store.EscalationFile(q.Escalation)), Example: question.Example}
	if !st.Confined {
		e.Resolution = dir.Abs(store.ResolutionFile(q.Escalation))
	}
	f, ok := question.Read(dir, q.Escalation)
	switch {
	case !ok || q.Answer != nil:
	case st.Confined:
		refused := question.Refused(st.Session, id, f.Name)
		yamldoc.Document{File: f.Name, Diagnostics: &e.Faults}.Errorf(yamldoc.Pos{}, yamldoc.CodeRead, failure.Render(refused.Hint, program), "%s", refused.Message)
	default:
		e.Resolved, e.Faults = len(f.Faults) == 0, f.Faults
	}
	return e
}

// Question is a question of a session to the user.
type Question struct {
	Session string `json:"session"`
	ID      string `json:"id"`
	Kind    string `json:"kind"` // confirm, supervise, tool, escalation
	// Call is the tool call in question, nil for other kinds.
	Call *event.AskedCall `json:"call,omitempty"`
	// Stage is the id of the node, "" for the session.
	Stage string `json:"stage,omitempty"`
	// Provider is the provider of a parallel block that the question is about, "" elsewhere.
	Provider string `json:"provider,omitempty"`
	Text     string `json:"text"`
	// Code identifies the cause of an escalation, and Remedy suggests a solution.
	Code   string `json:"code,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Escalation describes how to answer an escalation with a file, nil for other kinds.
	Escalation *Escalation `json:"escalation,omitempty"`
	Options    []string    `json:"options"`
	// AcceptFeedback reports that a rejection may have a text. The stage restarts with the text; if the question is
	// about a tool call, the agent receives the text and continues.
	AcceptFeedback bool `json:"accept_feedback,omitempty"`
	// Preview is the beginning of the content in question; Files are the absolute paths of its files.
	Preview string   `json:"preview,omitempty"`
	Files   []string `json:"files,omitempty"`
	// Digest binds an answer to the content shown.
	Digest  string    `json:"digest"`
	AskedAt time.Time `json:"asked_at"`
	// Due is the deadline of the answer. OnTimeout is the consequence for an escalation: abort, pause or
	// failed.
	Due       *time.Time `json:"due,omitempty"`
	OnTimeout string     `json:"on_timeout,omitempty"`
	// Answer is an answer that the run has not applied yet, nil for none.
	Answer *state.Answer `json:"answer,omitempty"`
	// Commands holds command lines that answer or show the question.
	Commands QuestionCommands `json:"commands"`
}

// QuestionCommands holds command lines for a question. Commands that the question does not accept are "", as
// are all answers after the question was answered.
type QuestionCommands struct {
	Approve  string `json:"approve,omitempty"`
	Reject   string `json:"reject,omitempty"`
	Feedback string `json:"feedback,omitempty"` // TEXT is a placeholder
	// Skip skips the tool call.
	Skip string `json:"skip,omitempty"`
	// SkipFailedStep continues without the failed steps of the stage; "" if none failed.
	SkipFailedStep string `json:"skip_failed_step,omitempty"`
	// FromFile answers an escalation with a file; FILE is a placeholder.
	FromFile string `json:"from_file,omitempty"`
	Show     string `json:"show"`
}

// NewQuestionCommands returns the command lines for a question, which begin with program.
func NewQuestionCommands(program string, q Question) QuestionCommands {
	c := QuestionCommands{Show: failure.Next("questions", "show", q.Session, q.ID).Command(program)}
	if q.Answer != nil {
		return c
	}
	if slices.Contains(q.Options, event.AnswerApprove) {
		c.Approve = failure.Next("approve", q.Session, q.ID).Command(program)
	}
	if slices.Contains(q.Options, event.AnswerReject) {
		c.Reject = failure.Next("reject", q.Session, q.ID).Command(program)
		if q.AcceptFeedback {
			c.Feedback = failure.Next("reject", q.Session, q.ID, "--feedback", "TEXT").Command(program)
		}
	}
	if slices.Contains(q.Options, event.AnswerSkip) {
		c.Skip = failure.Next("answer", q.Session, q.ID, event.AnswerSkip).Command(program)
	}
	return c
}

// answerableQuestions returns the questions that can be answered. A tool question ends with its kernel and is
// asked again.
func answerableQuestions(program string, view View, dir *store.Dir, held bool) []Question {
	all := ListQuestions(program, view.Plan, view.State, dir)
	if !held {
		all = slices.DeleteFunc(all, func(q Question) bool { return q.Kind == event.QuestionTool })
	}
	return all
}

// ListQuestions returns the open and answered questions of a state, oldest first. Command lines in them begin with
// program.
func ListQuestions(program string, p *plan.Plan, st state.State, dir *store.Dir) []Question {
	var all []Question
	for _, id := range slices.Sorted(maps.Keys(st.Questions)) {
		all = append(all, newQuestion(program, p, st, id, dir))
	}
	slices.SortStableFunc(all, func(a, b Question) int { return a.AskedAt.Compare(b.AskedAt) })
	return all
}

func newQuestion(program string, p *plan.Plan, st state.State, id string, dir *store.Dir) Question {
	q := st.Questions[id]
	asked := Question{
		Session: st.Session, ID: id, Kind: q.Kind, Text: q.Text, Options: q.Options, AcceptFeedback: q.AcceptFeedback,
		Preview: q.Preview, Digest: q.Digest, AskedAt: q.AskedAt, Due: q.Due, Answer: q.Answer, Code: q.Code, Call: q.Call,
		Remedy: q.Remedy,
	}
	if q.Due != nil {
		asked.OnTimeout = q.OnTimeout
	}
	node := q.Node
	if _, at, _, ok := q.Key.Parse(); ok {
		node, asked.Provider = at.Node, at.Branch
	}
	if p != nil {
		if n := p.Find(node); n != nil {
			asked.Stage = n.ID
		}
	}
	for _, f := range q.Shown {
		if !filepath.IsAbs(f.Path) {
			f.Path = dir.Abs(f.Path)
		}
		asked.Files = append(asked.Files, f.Path)
	}
	asked.Commands = NewQuestionCommands(program, asked)
	if q.Escalation != "" {
		asked.Escalation = newEscalation(program, st, id, dir)
	}
	if q.Kind == event.QuestionEscalation && q.Answer == nil {
		asked.Commands.FromFile = failure.Next("answer", st.Session, id, "--from-file", "FILE").Command(program)
	}
	if q.Kind == event.QuestionEscalation && q.Answer == nil && HasFailedStep(st) {
		asked.Commands.SkipFailedStep = failure.Next("resume", st.Session, "--skip-failed-step").Command(program)
	}
	return asked
}

// HasFailedStep reports whether a step of the current node has failed.
func HasFailedStep(st state.State) bool {
	for _, s := range st.Nodes[st.At].Steps {
		if s.Status == state.StepFailed {
			return true
		}
	}
	return false
}
