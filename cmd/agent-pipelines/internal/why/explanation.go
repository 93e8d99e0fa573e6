package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	words "github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Explanation explains the status of a session.
type Explanation struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id,omitempty"`
	Status  state.Status `json:"status"`
	Crashed bool         `json:"crashed,omitempty"`
	// Text is the explanation in a sentence, without the session's name. Since is the time since which Text is true.
	Text  string     `json:"text"`
	Since *time.Time `json:"since,omitempty"`
	Code  string     `json:"code,omitempty"` // of a failure or an escalation
	// More has further sentences: the effect of retries, and the remedy.
	More []string `json:"more,omitempty"`
	// Next lists possible next commands, the likeliest first.
	Next []Command `json:"next"`
	// Chain lists the causes, the latest first. LeftOut counts the older causes that are not in it.
	Chain   []Cause `json:"chain"`
	LeftOut int     `json:"left_out,omitempty"`
	// Damage describes the unreadable parts of the session's files.
	Damage string `json:"damage,omitempty"`
	// Tampered says how the journal differs from what the user left.
	Tampered string `json:"tampered,omitempty"`
}

// TamperedText returns the sentences about a journal that is not as the user left it. command shows more.
func TamperedText(tampered, command string) string {
	return fmt.Sprintf("%s. %#q shows more; with --accept it accepts the journal as it is.", tampered, command)
}

// Command is a command line with its effect.
type Command struct {
	Line string `json:"command"`
	Does string `json:"does"`
}

// Explain explains a session's status by its causes.
func Explain(s *engine.Status, c *Causes) Explanation {
	a := Explanation{Session: s.Session, RunID: s.RunID, Status: s.Status, Crashed: s.Crashed, Damage: s.Damage, Tampered: s.Tampered, Next: []Command{}}
	a.Chain, a.LeftOut = c.List()
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
	a.addCommands(s)
	return a
}

func (a *Explanation) crashed(s *engine.Status, c *Causes) {
	a.Text = fmt.Sprintf("was cut off%s: the process that worked on it (PID %d) is gone and recorded no end", describePosition(s), c.pid)
	a.Since = &s.LastEventAt
	a.More = append(a.More, "Finished work is kept; a resume repeats the interrupted work.")
}

// describePosition returns the position of a session: " at stage build, iteration 3 of 5, attempt 2".
func describePosition(s *engine.Status) string {
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

func (a *Explanation) running(s *engine.Status, c *Causes) {
	if q := openQuestion(s); q != nil {
		a.Text, a.Since, a.Code = "is running, and waits for an answer: "+describeQuestion(*q), &q.AskedAt, q.Code
		return
	}
	a.Text = "is running" + describePosition(s)
	if s.PID > 0 {
		a.Text += fmt.Sprintf(" (PID %d)", s.PID)
	}
	if until, purpose, ok := c.Timer(); ok {
		a.Text += fmt.Sprintf("; it waits until %s %s", until.Local().Format(time.TimeOnly), purpose)
	}
	a.Since = &s.LastEventAt
	for i := range a.Chain {
		switch l := a.Chain[i]; l.Kind {
		case Requested:
			a.More = append(a.More, "A request takes effect at the next boundary: "+l.Text+".")
		case Continued, Ended, Returned, Entered, Tried, Resumed, Began:
			a.More = append(a.More, "What led to that: "+l.Text+".")
			return
		}
	}
}

// openQuestion returns the oldest unanswered question, nil for none.
func openQuestion(s *engine.Status) *engine.Question {
	for i := range s.Questions {
		if s.Questions[i].Answer == nil {
			return &s.Questions[i]
		}
	}
	return nil
}

// describeQuestion returns a question as text.
func describeQuestion(q engine.Question) string {
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

func (a *Explanation) paused(s *engine.Status, c *Causes) {
	a.Code = s.PauseCode
	if q := openQuestion(s); q != nil {
		a.Text, a.Since = "is paused and waits for an answer: "+describeQuestion(*q), &q.AskedAt
		if q.Code != "" {
			a.Code = q.Code
		}
		if q.Remedy != "" {
			a.More = append(a.More, "To be done: "+sentence(q.Remedy))
		}
		a.addAttempts(c)
		return
	}
	if d := c.answer; d != nil {
		a.Text = fmt.Sprintf("is paused%s, and question %s has been answered%s (%s): a resume applies the answer", describePosition(s), d.ID, by(d.By), d.Answer)
		return
	}
	a.Text = "is paused" + describePosition(s) + ", " + pauseReason(string(s.PauseKind), c.stoppedBy, s.Reason)
}

// addAttempts adds the retries that preceded an escalation.
func (a *Explanation) addAttempts(c *Causes) {
	attempts, stages := c.FailedAttempts()
	switch {
	case attempts > 0 && stages > 0:
		a.More = append(a.More, fmt.Sprintf("Before that, %s of the last iteration failed, and the stage restarted %s.", screen.Plural(attempts, "attempt"), times(stages)))
	case attempts > 1:
		a.More = append(a.More, fmt.Sprintf("Before that, %s of the last iteration failed.", screen.Plural(attempts, "attempt")))
	case attempts == 1:
		a.More = append(a.More, "Its only attempt failed, and no other was allowed.")
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// sentence returns a text that ends with one full stop.
func sentence(text string) string {
	return strings.TrimRight(brief(text), ". ") + "."
}

func (a *Explanation) failed(s *engine.Status, c *Causes) {
	f := s.Failure
	if f == nil {
		a.Text = "failed" + describePosition(s) + reasonSuffix(s.Reason)
		return
	}
	a.Code = f.Code
	a.Text = "failed" + describeFailurePlace(f, s) + ": " + failure(*f)
	a.addAttempts(c)
	if f.Cause != "" && f.Cause != f.Message {
		a.More = append(a.More, "The cause: "+sentence(f.Cause))
	}
	if f.Remedy != "" {
		a.More = append(a.More, "To be done: "+sentence(f.Remedy))
	}
}

// describeFailurePlace returns the place of a failure.
func describeFailurePlace(f *event.FailureData, s *engine.Status) string {
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

func (a *Explanation) completed(s *engine.Status, c *Causes) {
	switch {
	case s.Reason == reasonMaximum:
		a.Text = "is complete, because no iteration was left: nothing said that the work is done"
	case c.ending != "":
		a.Text = "is complete: " + c.ending
	default:
		a.Text = "is complete" + reasonSuffix(s.Reason)
	}
	if s.Deliverable != nil {
		a.More = append(a.More, fmt.Sprintf("Its result, made by %s: %s", s.Deliverable.Stage, s.Deliverable.Artifact))
	}
}

func (a *Explanation) aborted(s *engine.Status, c *Causes) {
	a.Text = "was aborted" + by(c.stoppedBy) + reasonSuffix(s.Reason)
}

// NextCommands returns the possible next commands for a session, the likeliest first.
func NextCommands(s *engine.Status) []Command {
	a := Explanation{Next: []Command{}, Code: s.PauseCode}
	switch q := openQuestion(s); {
	case s.Status == state.Failed && s.Failure != nil:
		a.Code = s.Failure.Code
	case q != nil && q.Code != "":
		a.Code = q.Code
	}
	a.addCommands(s)
	return a.Next
}

// addCommands adds the possible next commands.
func (a *Explanation) addCommands(s *engine.Status) {
	add := func(line, does string) {
		if line != "" {
			a.Next = append(a.Next, Command{line, does})
		}
	}
	verb := func(words string) string { return "agent-pipelines " + words + " " + s.Session }
	if s.VerifyCommand != "" { // answers and an abort are refused
		add(s.VerifyCommand, "shows how the journal was changed")
		add(s.VerifyCommand+" --accept", "accepts the journal as it is")
		add(verb("session rm"), "removes it with all its files")
		return
	}
	if q := openQuestion(s); q != nil {
		a.addAnswers(*q, add)
	}
	if s.RepairCommand != "" {
		add(s.RepairCommand+" --dry-run", "shows the state that a repair restores")
		add(s.RepairCommand, "makes it usable again")
	}
	if s.ResumeCommand != "" && openQuestion(s) == nil {
		add(s.ResumeCommand, "continues")
		if StepFailed(s) {
			add(s.ResumeCommand+" --skip-failed-step", "continues without the steps that failed")
		}
	}
	if a.Code != "" {
		add("agent-pipelines explain "+a.Code, "explains the code")
	}
	switch {
	case s.Locked:
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

// StepFailed reports whether a step of the current node has failed.
func StepFailed(s *engine.Status) bool {
	return s.StepsNode == s.Stage && slices.ContainsFunc(s.Steps, func(step inspect.StepStatus) bool { return step.Status == state.StepFailed })
}

// addAnswers adds the commands that answer a question.
func (a *Explanation) addAnswers(q engine.Question, add func(line, does string)) {
	rejects := "rejects it, which ends the session"
	if q.Kind == event.QuestionTool {
		rejects = "rejects the call"
	}
	add(q.Commands.Show, "shows all of the question")
	add(q.Commands.Approve, "approves it, or lets the run continue")
	if q.Kind == event.QuestionEscalation && q.Code == words.CycleLimit.Code() {
		add("agent-pipelines resume "+q.Session+" --reset-cycles", "continues and counts the cycles from zero")
	}
	add(q.Commands.SkipFailedStep, "continues without the steps that failed")
	add(q.Commands.Feedback, "sends it back with your feedback")
	add(q.Commands.Skip, "leaves the call out")
	add(q.Commands.Reject, rejects)
}
