package why

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Observe adds the next entry. It ignores data that cannot be decoded.
func (c *Causes) Observe(e timeline.Entry) {
	if e.IsNewRun {
		c.reset()
	}
	if handle, ok := handlers[e.Type]; ok {
		handle(c, e)
	}
	c.latest = e
}

// handlers has the effect of each type of event on the causes.
var handlers = map[event.Type]func(*Causes, timeline.Entry){
	event.SessionStart:    timeline.On(sessionStarted),
	event.KernelStart:     timeline.On(kernelStarted),
	event.SessionResumed:  timeline.On(sessionResumed),
	event.SessionImported: timeline.On(sessionImported),
	event.SessionPaused:   timeline.On(sessionPaused),
	event.SessionComplete: timeline.On(sessionCompleted),
	event.SessionAborted:  timeline.On(sessionAborted),
	event.RunStart:        timeline.On(runStarted),

	event.NodeStart:                nodeStarted,
	event.NodeComplete:             timeline.On(nodeCompleted),
	event.InputChecked:             timeline.On(inputChecked),
	event.NodeRunStart:             timeline.On(nodeRunStarted),
	event.ParallelProviderFailed:   timeline.On(providerEnded),
	event.ParallelProviderComplete: timeline.On(providerEnded),

	event.IterationStart:    iterationStarted,
	event.IterationComplete: timeline.On(iterationCompleted),
	event.JudgeComplete:     timeline.On(judged),
	event.Decision:          timeline.On(decided),
	event.Error:             timeline.On(attemptFailed),
	event.Retry:             timeline.On(attemptRetried),
	event.CheckResult:       timeline.On(checked),
	event.StepComplete:      timeline.On(stepCompleted),
	event.StepBlocked:       timeline.On(stepBlocked),
	event.StageTimeout:      timeline.On(timeUsedUp),
	event.BudgetWarning:     timeline.On(budgetExceeded),
	event.TimerSet:          timeline.On(timerSet),
	event.TimerFired:        timerEnded,
	event.AttemptStart:      timerEnded,

	event.QuestionAsked:    timeline.On(questionAsked),
	event.QuestionAnswered: timeline.On(questionAnswered),
	event.HookComplete:     timeline.On(hookEnded),
	event.HookTimeout:      timeline.On(hookEnded),
	event.HookSkipped:      timeline.On(hookSkipped),
	event.Control:          timeline.On(controlReceived),
}

// endRun marks the run as paused or ended, at the request of user, "" for none.
func (c *Causes) endRun(user string) {
	c.close()
	c.isRunning, c.timer, c.stopped, c.stoppedBy = false, nil, true, user
}

func sessionStarted(c *Causes, e timeline.Entry, d event.SessionStartData) {
	name := "pipeline " + d.Pipeline
	if d.Mode == "loop" {
		name = "stage " + d.Stage + " as a loop"
	}
	text := "the run began: " + name
	if d.Runs > 1 {
		text += fmt.Sprintf(", %d times", d.Runs)
	}
	if f := d.Flow; f != nil {
		if f.Start != "" {
			text += ", from " + f.Start
		}
		if f.ExitAfter != "" {
			text += ", up to " + f.ExitAfter
		}
		if len(f.Skip) > 0 {
			text += ", without " + strings.Join(f.Skip, ", ")
		}
	}
	c.add(e, Cause{Kind: Began, Text: text})
}

// kernelStarted adds the death of the previous kernel, if that kernel did not end the run. A kernel that only records
// an answer does not run the session before it is resumed.
func kernelStarted(c *Causes, e timeline.Entry, d event.KernelStartData) {
	if c.isRunning {
		c.close()
		l := c.add(e, Cause{Kind: CutOff, Text: fmt.Sprintf("the process that worked on it (PID %d) ended without an event for it; its last event was %s", c.pid, c.latest.Type)})
		l.At = c.latest.Time
	}
	c.isRunning, c.timer, c.pid = !c.stopped, nil, d.PID
	for _, v := range c.loops {
		v.failedAttempts = 0
	}
}

func sessionResumed(c *Causes, e timeline.Entry, d event.SessionResumedData) {
	c.answer = nil
	c.close()
	c.isRunning, c.stopped = true, false
	text := "it was resumed" + by(d.By)
	for _, with := range []struct {
		isSet bool
		text  string
	}{{d.Renew, "with its time renewed"}, {d.SkipFailedStep, "without the steps that failed"}, {d.ResetCycles, "with all cycles counted from zero"}, {d.ReenterNode != "", "with " + c.name(d.ReenterNode) + " once more"}} {
		if with.isSet {
			text += ", " + with.text
		}
	}
	if d.Context != "" {
		text += ", with words for the agents: " + quote(d.Context)
	}
	c.add(e, Cause{Kind: Resumed, Text: text})
}

func sessionImported(c *Causes, e timeline.Entry, d event.SessionImportedData) {
	c.close()
	c.add(e, Cause{Kind: Restored, Text: "its state was rebuilt from the files of the session: " + d.Reason})
}

func sessionPaused(c *Causes, e timeline.Entry, d event.SessionPausedData) {
	c.endRun(d.By)
	text := "the run paused, " + pauseReason(d.Kind, d.By, d.Reason)
	if _, explained := c.questions[d.Question]; explained {
		text = "the run paused until question " + d.Question + " is answered"
	}
	c.add(e, Cause{Kind: Paused, Code: d.Code, Text: text})
}

// pauseReasons are the reasons for a pause by kind.
var pauseReasons = map[string]string{
	"signal":     "since its process got a signal to stop",
	"user":       "since the user asked for it",
	"hook":       "since a hook asked for it",
	"approval":   "since the user has to approve",
	"escalation": "since it needs the user",
	"tampered":   "since a file that it relies on was changed",
	"error":      "since the machine or the files of the session did not let it continue",
}

// pauseReason returns the reason for a pause; if kind is "user", user is the requester.
func pauseReason(kind, user, reason string) string {
	if kind != "user" {
		user = ""
	}
	return cmp.Or(pauseReasons[kind], "for "+kind) + by(user) + reasonSuffix(reason)
}

func sessionCompleted(c *Causes, e timeline.Entry, d event.SessionCompleteData) {
	c.endRun("")
	text := "the run was complete"
	switch {
	case d.ExitAfter != "":
		text += ": it was to end after " + d.ExitAfter
	case d.Reason == "all_loops_complete":
		text += ": all its stages had ended"
	case d.Reason == reasonMaximum:
		text += ", because no iteration was left; nothing said that the work is done"
	case d.Reason != "":
		text += reasonSuffix(d.Reason)
	}
	c.add(e, Cause{Kind: Completed, Text: text})
}

func sessionAborted(c *Causes, e timeline.Entry, d event.SessionAbortedData) {
	c.endRun(d.By)
	c.add(e, Cause{Kind: Aborted, Text: "the run was aborted" + by(d.By) + reasonSuffix(d.Reason)})
}

func runStarted(c *Causes, e timeline.Entry, d event.RunStartData) {
	c.close()
	c.add(e, Cause{Kind: Began, Text: fmt.Sprintf("run %d of %d of the pipeline began", d.N, d.Max)})
}

// reasonMaximum is the reason of a stage that used all its iterations.
const reasonMaximum = "max_iterations"

func inputChecked(c *Causes, e timeline.Entry, d event.InputCheckedData) {
	if d.Failure != nil {
		at := c.place(e)
		c.add(e, Cause{Kind: Skipped, Stage: at.name, Code: d.Failure.Code, Text: at.describe() + " could not begin: " + failure(*d.Failure)})
	}
}

func nodeRunStarted(c *Causes, e timeline.Entry, d event.RunStartData) {
	if d.Max > 1 {
		c.close()
		c.add(e, Cause{Kind: Began, Stage: d.Name, Text: fmt.Sprintf("run %d of %d of the pipeline in %s began", d.N, d.Max, d.Name)})
	}
}

// providerEnded adds the end of a provider's work in a parallel block.
func providerEnded(c *Causes, e timeline.Entry, d event.ProviderCompleteData) {
	name := c.place(e).name
	l := Cause{Kind: Ended, Stage: name, Provider: d.Provider, Text: d.Provider + " was done in " + name}
	if e.Type == event.ParallelProviderFailed {
		l.Text = d.Provider + " failed in " + name
	}
	if e.Type == event.ParallelProviderFailed && d.Failure != nil {
		l.Code = d.Failure.Code
		l.Text += ": " + failure(*d.Failure)
	}
	c.add(e, l)
}

// nodeStarted begins a visit. It adds no cause if the preceding transition names the node.
func nodeStarted(c *Causes, e timeline.Entry) {
	if e.Cursor == nil {
		return
	}
	path := e.Cursor.NodePath
	c.close()
	for id := range c.loops {
		if id == (place{Location: event.Location{Node: path}}).id() || strings.HasPrefix(id, path+".") || strings.HasPrefix(id, path+"\x00") {
			delete(c.loops, id)
		}
	}
	if c.nextPath != path {
		at := c.place(e)
		c.add(e, Cause{Kind: Entered, Stage: at.name, Visit: at.Visit, Text: at.name + " began" + describeVisit(at.Visit)})
	}
	c.nextPath = ""
}

func describeVisit(n int) string {
	if n > 1 {
		return fmt.Sprintf(" (visit %d)", n)
	}
	return ""
}

// nodeCompleted adds the end of a visit, with its reason and the transition.
func nodeCompleted(c *Causes, e timeline.Entry, d event.NodeCompleteData) {
	at := c.place(e)
	at.Step, at.Branch = "", ""
	c.nextPath = d.To
	l := Cause{Kind: Ended, Stage: at.name, Visit: at.Visit, To: at.Iteration}
	if d.Failure != nil {
		l.Code = d.Failure.Code
	}
	if d.Edge != "" {
		l.Kind = Returned
	}
	if d.Status == "skipped" {
		l.Kind, l.Text = Skipped, at.name+" was skipped"+reasonSuffix(d.Reason)
	} else {
		l.Text = at.name + " ended as " + d.Outcome + describeVisit(at.Visit) + c.iterations(at) + c.endReason(at, d)
	}
	l.Text += c.transition(d)
	text := l.Text
	c.close()
	c.add(e, l)
	c.ending = "stage " + strings.TrimSuffix(text, "; "+lastStage)
	if d.To == plan.ToFailed {
		c.endRun("")
	}
}

// iterations returns the number of iterations of a visit in words.
func (c *Causes) iterations(at place) string {
	n := 0
	for id, v := range c.loops {
		if id == at.id() || strings.HasPrefix(id, at.Node+".") || strings.HasPrefix(id, at.Node+"\x00") && !strings.HasSuffix(id, "\x00") {
			n += v.iterations
		}
	}
	if n == 0 {
		return ""
	}
	return " after " + screen.Plural(n, "iteration")
}

// endReason returns the reason for the end of a visit.
func (c *Causes) endReason(at place, d event.NodeCompleteData) string {
	v := c.loop(at)
	stop := v.stopDecision
	switch {
	case d.Failure != nil:
		return ": " + failure(*d.Failure)
	case v.settlement != nil && v.settlement.Outcome == d.Outcome && d.Outcome != string(plan.OutcomeSuccess):
		return reasonSuffix(v.settlement.Message)
	case stop != nil && strings.HasPrefix(stop.Reason, "Completed "): // iterations has the number
		if v.iterations == 1 {
			return ""
		}
		return ", the planned number"
	case d.Reason == reasonMaximum:
		return ", because no iteration was left"
	case stop != nil && stop.Reason != "":
		return fmt.Sprintf(": %s said stop: %s", stop.Strategy, quote(stop.Reason))
	case stop != nil:
		return fmt.Sprintf(": %s said stop", stop.Strategy)
	case d.Reason != "":
		return reasonSuffix(d.Reason)
	default:
		return ""
	}
}

// lastStage is the transition after the last stage.
const lastStage = "that was the last stage"

// transitions are the transitions to the ends of a pipeline in words.
var transitions = map[string]string{
	"": "", plan.ToDone: "; " + lastStage, plan.ToFailed: "; that failed the run", plan.ToPause: "; that needs the user", plan.ToAbort: "; that aborts the run",
}

// transition returns the transition at the end of a visit in words.
func (c *Causes) transition(d event.NodeCompleteData) string {
	text, isEnd := transitions[d.To]
	switch {
	case isEnd:
		return text
	case d.Edge != "":
		return fmt.Sprintf("; that led back to %s over %s (return %d of %d)", c.name(d.To), d.Edge, d.Cycle, d.Limit)
	default:
		return "; that led to " + c.name(d.To)
	}
}
