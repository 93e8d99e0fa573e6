package why

import (
	"fmt"
	"strings"

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
	event.SessionStart:    timeline.On((*Causes).sessionStarted),
	event.KernelStart:     timeline.On((*Causes).kernelStarted),
	event.SessionResumed:  timeline.On((*Causes).sessionResumed),
	event.SessionImported: timeline.On((*Causes).sessionImported),
	event.SessionPaused:   timeline.On((*Causes).sessionPaused),
	event.SessionComplete: timeline.On((*Causes).sessionCompleted),
	event.SessionAborted:  timeline.On((*Causes).sessionAborted),
	event.RunStart:        timeline.On((*Causes).runStarted),

	event.NodeStart:                (*Causes).nodeStarted,
	event.NodeComplete:             timeline.On((*Causes).nodeCompleted),
	event.InputChecked:             timeline.On((*Causes).inputChecked),
	event.NodeRunStart:             timeline.On((*Causes).nodeRunStarted),
	event.ParallelProviderFailed:   timeline.On((*Causes).providerEnded),
	event.ParallelProviderComplete: timeline.On((*Causes).providerEnded),

	event.IterationStart:    (*Causes).iterationStarted,
	event.IterationComplete: timeline.On((*Causes).iterationCompleted),
	event.JudgeComplete:     timeline.On((*Causes).judged),
	event.Decision:          timeline.On((*Causes).decided),
	event.Error:             timeline.On((*Causes).attemptFailed),
	event.Retry:             timeline.On((*Causes).attemptRetried),
	event.CheckResult:       timeline.On((*Causes).checked),
	event.StepComplete:      timeline.On((*Causes).stepCompleted),
	event.StepBlocked:       timeline.On((*Causes).stepBlocked),
	event.StageTimeout:      timeline.On((*Causes).timeUsedUp),
	event.BudgetWarning:     timeline.On((*Causes).budgetExceeded),
	event.TimerSet:          timeline.On((*Causes).timerSet),
	event.TimerFired:        (*Causes).timerEnded,
	event.AttemptStart:      (*Causes).timerEnded,

	event.QuestionAsked:    timeline.On((*Causes).questionAsked),
	event.QuestionAnswered: timeline.On((*Causes).questionAnswered),
	event.HookComplete:     timeline.On((*Causes).hookEnded),
	event.HookTimeout:      timeline.On((*Causes).hookEnded),
	event.HookSkipped:      timeline.On((*Causes).hookSkipped),
	event.Control:          timeline.On((*Causes).controlReceived),
}

// endRun marks the run as paused or ended.
func (c *Causes) endRun(e timeline.Entry) {
	c.close()
	c.isRunning, c.timer, c.stopped = false, nil, &e
}

func (c *Causes) sessionStarted(e timeline.Entry, d event.SessionStartData) {
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

// kernelStarted adds the death of the previous kernel, if it did not end the run. A kernel that only records an answer does
// not run the session before it is resumed.
func (c *Causes) kernelStarted(e timeline.Entry, d event.KernelStartData) {
	if c.isRunning {
		c.close()
		l := c.add(e, Cause{Kind: CutOff, Text: fmt.Sprintf("the process that worked on it (PID %d) was gone without a word; its last event was %s", c.pid, c.latest.Type)})
		l.At = c.latest.Time
	}
	c.isRunning, c.timer, c.pid = c.stopped == nil, nil, d.PID
	for _, v := range c.loops {
		v.failedAttempts = 0
	}
}

func (c *Causes) sessionResumed(e timeline.Entry, d event.SessionResumedData) {
	c.answer = nil
	c.close()
	c.isRunning, c.stopped = true, nil
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

func (c *Causes) sessionImported(e timeline.Entry, d event.SessionImportedData) {
	c.close()
	c.add(e, Cause{Kind: Restored, Text: "its state was rebuilt from the files of the session: " + d.Reason})
}

func (c *Causes) sessionPaused(e timeline.Entry, d event.SessionPausedData) {
	c.endRun(e)
	text := "the run paused, " + pauseReason(d.Kind, d.By, d.Reason)
	if _, explained := c.questions[d.Question]; explained {
		text = "the run paused until question " + d.Question + " is answered"
	}
	c.add(e, Cause{Kind: Paused, Code: d.Code, Text: text})
}

// pauseReason returns the reason for a pause.
func pauseReason(kind, user, reason string) string {
	switch kind {
	case "signal":
		return "since its process got a signal to stop" + because(reason)
	case "user":
		return "since the user asked for it" + by(user) + because(reason)
	case "hook":
		return "since a hook asked for it" + because(reason)
	case "approval":
		return "since the user has to approve" + because(reason)
	case "escalation":
		return "since it needs the user" + because(reason)
	case "error":
		return "since the machine or the files of the session did not let it continue" + because(reason)
	default:
		return "for " + kind + because(reason)
	}
}

func (c *Causes) sessionCompleted(e timeline.Entry, d event.SessionCompleteData) {
	c.endRun(e)
	text := "the run was complete"
	switch {
	case d.ExitAfter != "":
		text += ": it was to end after " + d.ExitAfter
	case d.Reason == "all_loops_complete":
		text += ": all its stages had ended"
	case d.Reason == reasonMaximum:
		text += ", because no iteration was left; nothing said that the work is done"
	case d.Reason != "":
		text += because(d.Reason)
	}
	c.add(e, Cause{Kind: Completed, Text: text})
}

func (c *Causes) sessionAborted(e timeline.Entry, d event.SessionAbortedData) {
	c.endRun(e)
	c.add(e, Cause{Kind: Aborted, Text: "the run was aborted" + by(d.By) + because(d.Reason)})
}

func (c *Causes) runStarted(e timeline.Entry, d event.RunStartData) {
	c.close()
	c.add(e, Cause{Kind: Began, Text: fmt.Sprintf("run %d of %d of the pipeline began", d.N, d.Max)})
}

// reasonMaximum is the reason of a stage that used all its iterations.
const reasonMaximum = "max_iterations"

func (c *Causes) inputChecked(e timeline.Entry, d event.InputCheckedData) {
	if d.Failure != nil {
		at := c.place(e)
		c.add(e, Cause{Kind: Skipped, Stage: at.name, Code: d.Failure.Code, Text: at.describe() + " could not begin: " + failure(*d.Failure)})
	}
}

func (c *Causes) nodeRunStarted(e timeline.Entry, d event.RunStartData) {
	if d.Max > 1 {
		c.close()
		c.add(e, Cause{Kind: Began, Stage: d.Name, Text: fmt.Sprintf("run %d of %d of the pipeline in %s began", d.N, d.Max, d.Name)})
	}
}

// providerEnded adds the end of a provider's work in a parallel block.
func (c *Causes) providerEnded(e timeline.Entry, d event.ProviderCompleteData) {
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

// nodeStarted begins a visit. A preceding transition already names it.
func (c *Causes) nodeStarted(e timeline.Entry) {
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
func (c *Causes) nodeCompleted(e timeline.Entry, d event.NodeCompleteData) {
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
		l.Kind, l.Text = Skipped, at.name+" was skipped"+because(d.Reason)
	} else {
		l.Text = at.name + " ended as " + d.Outcome + describeVisit(at.Visit) + c.iterations(at) + c.endReason(at, d)
	}
	l.Text += c.transition(d)
	text := l.Text
	c.close()
	c.add(e, l)
	c.ending = "stage " + strings.TrimSuffix(text, "; "+lastStage)
	if d.To == plan.ToFailed {
		c.endRun(e)
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
	switch n {
	case 0:
		return ""
	case 1:
		return " after 1 iteration"
	default:
		return fmt.Sprintf(" after %d iterations", n)
	}
}

// endReason returns the reason for the end of a visit.
func (c *Causes) endReason(at place, d event.NodeCompleteData) string {
	v := c.loop(at)
	stop := v.stopDecision
	switch {
	case d.Failure != nil:
		return ": " + failure(*d.Failure)
	case v.settlement != nil && v.settlement.Outcome == d.Outcome && d.Outcome != string(plan.OutcomeSuccess):
		return because(v.settlement.Message)
	case stop != nil && strings.HasPrefix(stop.Reason, "Completed "): // iterations has the number
		if v.iterations == 1 {
			return ""
		}
		return ", as many as it was to make"
	case d.Reason == reasonMaximum:
		return ", because no iteration was left"
	case stop != nil && stop.Reason != "":
		return fmt.Sprintf(": %s said stop: %s", stop.Strategy, quote(stop.Reason))
	case stop != nil:
		return fmt.Sprintf(": %s said stop", stop.Strategy)
	case d.Reason != "":
		return because(d.Reason)
	default:
		return ""
	}
}

// lastStage is the transition after the last stage.
const lastStage = "that was the last stage"

// transition returns the transition at the end of a visit in words.
func (c *Causes) transition(d event.NodeCompleteData) string {
	switch d.To {
	case "":
		return ""
	case plan.ToDone:
		return "; " + lastStage
	case plan.ToFailed:
		return "; that failed the run"
	case plan.ToPause:
		return "; that needs the user"
	case plan.ToAbort:
		return "; that aborts the run"
	}
	if d.Edge != "" {
		return fmt.Sprintf("; that led back to %s over %s (return %d of %d)", c.name(d.To), d.Edge, d.Cycle, d.Limit)
	}
	return "; that led to " + c.name(d.To)
}
