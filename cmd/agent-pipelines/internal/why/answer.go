package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	words "github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Answer says why a session is where it is.
type Answer struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id,omitempty"`
	Status  state.Status `json:"status"`
	Crashed bool         `json:"crashed,omitempty"`
	// Text is the answer in a sentence, without the session's name, Since the time since which it holds.
	Text  string     `json:"text"`
	Since *time.Time `json:"since,omitempty"`
	Code  string     `json:"code,omitempty"` // of what failed, or made a person needed
	// More are further sentences: what retries did, what is to be mended.
	More []string `json:"more,omitempty"`
	// Next are the commands that go on from here, the likeliest first.
	Next []Command `json:"next"`
	// Chain is what led here, the newest first; LeftOut counts the older links that are not in it.
	Chain   []Link `json:"chain"`
	LeftOut int    `json:"left_out,omitempty"`
	// Damage says what of the session's files could not be read.
	Damage string `json:"damage,omitempty"`
}

// Command is a command line, and what it does.
type Command struct {
	Line string `json:"command"`
	Does string `json:"does"`
}

// Of says why a session stands as its status says, from the chain of its events.
func Of(s *engine.Status, c *Chain) Answer {
	a := Answer{Session: s.Session, RunID: s.RunID, Status: s.Status, Crashed: s.Crashed, Damage: s.Damage, Next: []Command{}}
	a.Chain, a.LeftOut = c.Links()
	switch {
	case s.Status == "" || s.Status == state.Pending:
		a.Text = "never began"
	case s.Crashed:
		a.crashed(s, c)
	case s.Status == state.Running:
		a.running(s, c)
	case s.Status == state.Paused:
		a.paused(s, c)
	case s.Status == state.Failed:
		a.failed(s, c)
	case s.Status == state.Completed:
		a.completed(s, c)
	default:
		a.aborted(s, c)
	}
	if a.Since == nil {
		a.Since = s.EndedAt
	}
	a.next(s)
	return a
}

func (a *Answer) crashed(s *engine.Status, c *Chain) {
	a.Text = fmt.Sprintf("was cut off%s: the process that worked on it (PID %d) is gone and said nothing at its end", atWork(s), c.pid)
	a.Since = &s.LastEventAt
	a.More = append(a.More, "What was finished is kept; a resume makes again what was cut off.")
}

// atWork is where a session is: " at stage build, iteration 3 of 5, attempt 2".
func atWork(s *engine.Status) string {
	if s.Stage == "" {
		return ""
	}
	text := " at stage " + s.Stage
	if len(s.Providers) > 0 || s.Iteration == 0 {
		return text
	}
	text += fmt.Sprintf(", iteration %d", s.Iteration)
	if s.Max >= s.Iteration {
		text += fmt.Sprintf(" of %d", s.Max)
	}
	if s.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	return text
}

func (a *Answer) running(s *engine.Status, c *Chain) {
	if q := open(s); q != nil {
		a.Text, a.Since, a.Code = "is running, and waits for a person: "+asks(*q), &q.AskedAt, q.Code
		return
	}
	a.Text = "is running" + atWork(s)
	if s.PID > 0 {
		a.Text += fmt.Sprintf(" (PID %d)", s.PID)
	}
	if until, what, ok := c.Waiting(); ok {
		a.Text += fmt.Sprintf("; it waits until %s %s", until.Local().Format(time.TimeOnly), what)
	}
	a.Since = &s.LastEventAt
	for i := range a.Chain {
		switch l := a.Chain[i]; l.What {
		case Told:
			a.More = append(a.More, "It has been asked for something that it does at the next boundary: "+l.Text+".")
		case WentOn, Ended, Returned, Entered, Tried, Resumed, Began:
			a.More = append(a.More, "What led to that: "+l.Text+".")
			return
		}
	}
}

// open is the oldest question that nobody answered, nil for none.
func open(s *engine.Status) *engine.Question {
	for i := range s.Questions {
		if s.Questions[i].Answer == nil {
			return &s.Questions[i]
		}
	}
	return nil
}

// asks is a question in words.
func asks(q engine.Question) string {
	about := ""
	if q.Stage != "" {
		about = " about stage " + q.Stage
		if q.Provider != "" {
			about += " (" + q.Provider + ")"
		}
	}
	text := fmt.Sprintf("question %s%s (%s): %s", q.ID, about, q.Kind, quote(q.Text))
	if q.Due != nil {
		text += ", to be answered before " + q.Due.Local().Format(time.DateTime)
	}
	return text
}

func (a *Answer) paused(s *engine.Status, c *Chain) {
	a.Code = s.PauseCode
	if q := open(s); q != nil {
		a.Text, a.Since = "is paused and waits for a person: "+asks(*q), &q.AskedAt
		if q.Code != "" {
			a.Code = q.Code
		}
		if q.Remedy != "" {
			a.More = append(a.More, "To be done: "+sentence(q.Remedy))
		}
		a.tried(c)
		return
	}
	if d := c.answer; d != nil {
		a.Text = fmt.Sprintf("is paused%s, and question %s has been answered%s (%s): a resume takes that up", atWork(s), d.ID, by(d.By), d.Answer)
		return
	}
	who := ""
	if c.stopped != nil && c.stopped.Type == event.SessionPaused {
		if d, err := event.Decode[event.SessionPausedData](c.stopped.Event); err == nil {
			who = d.By
		}
	}
	a.Text = "is paused" + atWork(s) + ", " + pauseReason(string(s.PauseKind), who, s.Reason)
}

// tried says what was tried before a person was needed.
func (a *Answer) tried(c *Chain) {
	attempts, stages := c.Tries()
	switch {
	case attempts > 0 && stages > 0:
		a.More = append(a.More, fmt.Sprintf("It was tried: %s of the last iteration failed, and the stage began anew %s.", screen.Plural(attempts, "attempt"), times(stages)))
	case attempts > 1:
		a.More = append(a.More, fmt.Sprintf("It was tried: %s of the last iteration failed.", screen.Plural(attempts, "attempt")))
	case attempts == 1:
		a.More = append(a.More, "It was tried once, and no attempt was left or to be made.")
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// sentence ends a text as one.
func sentence(text string) string {
	return strings.TrimRight(brief(text), ". ") + "."
}

func (a *Answer) failed(s *engine.Status, c *Chain) {
	f := s.Failure
	if f == nil {
		a.Text = "failed" + atWork(s) + because(s.Reason)
		return
	}
	a.Code = f.Code
	a.Text = "failed" + place(f, s) + ": " + failure(*f)
	a.tried(c)
	if f.Cause != "" && f.Cause != f.Message {
		a.More = append(a.More, "The cause: "+sentence(f.Cause))
	}
	if f.Remedy != "" {
		a.More = append(a.More, "To be done: "+sentence(f.Remedy))
	}
}

// place is where a failure happened.
func place(f *event.FailureData, s *engine.Status) string {
	var parts []string
	if at := f.Stage; at != "" {
		parts = append(parts, "stage "+at)
	} else if s.Stage != "" {
		parts = append(parts, "stage "+s.Stage)
	}
	if f.Step != "" {
		parts = append(parts, "step "+f.Step)
	}
	if f.Iteration > 0 {
		parts = append(parts, fmt.Sprintf("iteration %d", f.Iteration))
	}
	if f.Attempt > 0 {
		parts = append(parts, fmt.Sprintf("attempt %d", f.Attempt))
	}
	if len(parts) == 0 {
		return ""
	}
	return " at " + strings.Join(parts, ", ")
}

func (a *Answer) completed(s *engine.Status, c *Chain) {
	switch {
	case s.Reason == maximum:
		a.Text = "is complete, because no iteration was left: nothing said that the work is done"
	case c.ending != "":
		a.Text = "is complete: " + c.ending
	default:
		a.Text = "is complete" + because(s.Reason)
	}
	if s.Deliverable != nil {
		a.More = append(a.More, fmt.Sprintf("What it delivered, made by %s: %s", s.Deliverable.Stage, s.Deliverable.Artifact))
	}
}

func (a *Answer) aborted(s *engine.Status, c *Chain) {
	a.Text = "was aborted" + because(s.Reason)
	if c.stopped != nil && c.stopped.Type == event.SessionAborted {
		if d, err := event.Decode[event.SessionAbortedData](c.stopped.Event); err == nil {
			a.Text = "was aborted" + by(d.By) + because(d.Reason)
		}
	}
}

// Next are the commands that go on from where a session is, the likeliest first.
func Next(s *engine.Status) []Command {
	a := Answer{Next: []Command{}, Code: s.PauseCode}
	switch q := open(s); {
	case s.Status == state.Failed && s.Failure != nil:
		a.Code = s.Failure.Code
	case q != nil && q.Code != "":
		a.Code = q.Code
	}
	a.next(s)
	return a.Next
}

// next are the commands that go on from where a session is.
func (a *Answer) next(s *engine.Status) {
	add := func(line, does string) {
		if line != "" {
			a.Next = append(a.Next, Command{line, does})
		}
	}
	verb := func(words string) string { return "agent-pipelines " + words + " " + s.Session }
	if q := open(s); q != nil {
		a.answers(*q, add)
	}
	if s.RepairCommand != "" {
		add(s.RepairCommand+" --dry-run", "shows what is known of it")
		add(s.RepairCommand, "makes it usable again")
	}
	if s.ResumeCommand != "" && open(s) == nil {
		add(s.ResumeCommand, "goes on")
		if stepFailed(s) {
			add(s.ResumeCommand+" --skip-failed-step", "goes on without the steps that failed")
		}
	}
	if a.Code != "" {
		add("agent-pipelines explain "+a.Code, "explains the code")
	}
	switch {
	case s.Held:
		add(verb("attach"), "shows what happens")
		add(verb("pause"), "pauses it after the running iteration")
		add(verb("abort"), "ends it for good")
	case s.Status.Final():
		add(verb("session history"), "shows every visit of every stage")
		add(verb("report"), "makes a page of all of it")
	case s.Status != "":
		add(verb("abort"), "ends it for good")
	}
}

// stepFailed reports whether a step of the node that the run is at has failed.
func stepFailed(s *engine.Status) bool {
	return s.StepsOf == s.Stage && slices.ContainsFunc(s.Steps, func(step engine.StepStatus) bool { return step.Status == state.StepFailed })
}

// answers are the commands that answer a question.
func (a *Answer) answers(q engine.Question, add func(line, does string)) {
	rejects := "rejects it, which ends the session"
	if q.Kind == event.QuestionTool {
		rejects = "rejects the call"
	}
	add(q.Commands.Show, "shows all of the question")
	add(q.Commands.Approve, "approves it, or lets the run go on")
	if q.Kind == event.QuestionEscalation && q.Code == words.CycleLimit.Code() {
		add("agent-pipelines resume "+q.Session+" --reset-cycles", "goes on and counts the cycles anew")
	}
	add(q.Commands.SkipFailedStep, "goes on without the steps that failed")
	add(q.Commands.Feedback, "sends it back with what is to be mended")
	add(q.Commands.Skip, "leaves the call out")
	add(q.Commands.Reject, rejects)
}
