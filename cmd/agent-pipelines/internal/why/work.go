package why

import (
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func iterationStarted(c *Causes, e timeline.Entry) {
	c.loop(c.place(e)).failedAttempts, c.timer = 0, nil
}

func iterationCompleted(c *Causes, e timeline.Entry, d event.IterationCompleteData) {
	v := c.loop(c.place(e))
	v.iterations++
	v.failedAttempts, v.stopDecision, v.settlement = 0, nil, nil
	if d.Outcome != "" {
		v.settlement = &d
	}
}

func judged(c *Causes, e timeline.Entry, d event.JudgeCompleteData) {
	c.loop(c.place(e)).judgeFailed = d.Status != "success"
}

func timeUsedUp(c *Causes, e timeline.Entry, d event.FailureData) {
	c.add(e, Cause{Kind: Limited, Stage: c.place(e).name, Code: d.Code, Text: "the time was used up" + reasonSuffix(d.Message)})
}

func budgetExceeded(c *Causes, e timeline.Entry, d event.BudgetWarningData) {
	c.add(e, Cause{Kind: Limited, Text: fmt.Sprintf("the cost has reached warn_usd $%.2f ($%.4f spent)", d.WarnUSD, d.SpentUSD)})
}

func timerSet(c *Causes, e timeline.Entry, d event.TimerSetData) {
	if d.Purpose != state.PurposeGuardrail {
		c.timer = &timer{d.Purpose, e.Key, e.Time.Add(d.After)}
	}
}

func timerEnded(c *Causes, _ timeline.Entry) { c.timer = nil }

// decided adds the reply of a termination strategy.
func decided(c *Causes, e timeline.Entry, d event.DecisionData) {
	at := c.place(e)
	v := c.loop(at)
	switch d.Action {
	case "stop":
		v.stopDecision = &d
	case "continue":
		reason := d.Reason
		if v.judgeFailed && d.Round > 0 {
			reason = "no verdict: " + reason
		}
		l := c.join(e, at, d.Strategy, Cause{Kind: Continued}, func(l *openCause) string { return describeContinued(l, at, d.Strategy) })
		l.reasons.add(reason, at.Iteration)
		v.judgeFailed = false
	}
}

// describeContinued describes iterations that the strategy continued after, with its reasons.
func describeContinued(l *openCause, at place, strategy string) string {
	if l.From == 0 && l.To == 0 {
		return fmt.Sprintf("%s began, because %s found work to do", at.describe(), strategy) + reasonSuffix(l.reasons.text())
	}
	text := describeIterations(l.From, l.To) + " of " + at.describe() + " continued: "
	if reasons := l.reasons.text(); reasons != "" {
		return text + strategy + " said " + reasons
	}
	return text + strategy + " had more iterations to make"
}

// describeIterations returns "iteration 3" or "iterations 3–97".
func describeIterations(from, to int) string {
	if from == to {
		return fmt.Sprintf("iteration %d", from)
	}
	return fmt.Sprintf("iterations %d–%d", from, to)
}

// attemptFailed adds a failed attempt. It ignores errors after the end of the run, which repeat the failure of a node.
func attemptFailed(c *Causes, e timeline.Entry, d event.FailureData) {
	if c.stopped {
		return
	}
	at := c.place(e)
	c.loop(at).failedAttempts++
	first := max(d.Attempt, e.Attempt)
	l := c.join(e, at, d.ErrorType, Cause{Kind: Tried, Code: d.Code}, func(l *openCause) string {
		if l.Times == 1 {
			return fmt.Sprintf("attempt %d of iteration %d of %s failed: %s", max(first, 1), l.From, at.describe(), l.detail)
		}
		return fmt.Sprintf("%d attempts of %s of %s failed, the last with: %s", l.Times, describeIterations(l.From, l.To), at.describe(), l.detail)
	})
	l.detail = failure(d)
	c.tried = l
}

// attemptRetried adds the retry to the last failed attempt.
func attemptRetried(c *Causes, e timeline.Entry, d event.RetryData) {
	at := c.place(e)
	var text string
	switch d.Rung {
	case event.RungStage:
		stage := at
		stage.Step = ""
		c.loop(stage).stageRetries++
		c.close()
		c.add(e, Cause{Kind: Restarted, Stage: at.name, Provider: at.Branch, Text: fmt.Sprintf("%s started again, since its attempts were used up (stage retry %d of %d)", stage.describe(), d.N-1, d.Max-1)})
		return
	case event.RungArtifact:
		text = "the agent was asked again for its artifact"
	default:
		text = fmt.Sprintf("it was repeated (attempt %d of %d)", d.N, d.Max)
	}
	if c.tried != nil {
		c.tried.detail = strings.TrimRight(strings.SplitN(c.tried.detail, retried, 2)[0], ";") + retried + text
	}
}

// retried separates a failure from its retry.
const retried = "; "

// checked adds a failed check.
func checked(c *Causes, e timeline.Entry, d event.CheckResultData) {
	if d.Passed {
		return
	}
	at := c.place(e)
	l := c.join(e, at, d.ID, Cause{Kind: Measured}, func(l *openCause) string {
		text := fmt.Sprintf("check %s did not pass in %s of %s", d.ID, describeIterations(l.From, l.To), at.describe())
		if l.From == 0 {
			text = fmt.Sprintf("check %s did not pass before %s", d.ID, at.describe())
		}
		if l.Times > 1 {
			text += fmt.Sprintf(" (%d times, the last one", l.Times)
			return text + reasonSuffix(l.detail) + ")"
		}
		return text + reasonSuffix(l.detail)
	})
	l.detail = d.Reason
	if d.Failure != nil {
		l.detail = failure(*d.Failure)
	}
}

// stepBlocked adds a step that another step blocks. All blocked steps of a node are one cause.
func stepBlocked(c *Causes, e timeline.Entry, d event.StepBlockedData) {
	at := c.nodePlace(e)
	l := c.join(e, at, "blocked", Cause{Kind: Stepped}, func(l *openCause) string {
		return fmt.Sprintf("%s of %s (%s) cannot run, because an earlier step failed", screen.Plural(l.Times, "step"), at.name, l.detail)
	})
	l.detail = strings.TrimPrefix(l.detail+", "+d.Step, ", ")
	if len(l.detail) > maxQuote {
		l.detail = d.Step
	}
}

// stepCompleted adds the end of a step. Completed steps are one cause.
func stepCompleted(c *Causes, e timeline.Entry, d event.StepCompleteData) {
	at := c.nodePlace(e)
	if d.Status == "failed" {
		l := Cause{Kind: Stepped, Stage: at.name, Text: fmt.Sprintf("step %s of %s failed%s", d.Step, at.name, reasonSuffix(d.Reason))}
		if d.Failure != nil {
			l.Code, l.Text = d.Failure.Code, fmt.Sprintf("step %s of %s failed: %s", d.Step, at.name, failure(*d.Failure))
		}
		c.add(e, l)
		return
	}
	l := c.join(e, at, "made", Cause{Kind: Stepped}, func(l *openCause) string { return l.detail })
	l.detail = fmt.Sprintf("%d of %d steps of %s were completed", d.Done, d.Total, at.name)
}

// nodePlace returns the place of an entry without its step and iteration.
func (c *Causes) nodePlace(e timeline.Entry) place {
	at := c.place(e)
	at.Step, at.Iteration = "", 0
	return at
}

// Timer returns the due time of the pending timer, and its purpose in words. ok is false if there is none.
func (c *Causes) Timer() (until time.Time, purpose string, ok bool) {
	if c.timer == nil || !c.isRunning {
		return time.Time{}, "", false
	}
	purpose = "before the next iteration"
	if c.timer.purpose == "backoff" {
		purpose = "before the failed attempt is repeated"
	}
	return c.timer.due, purpose, true
}

// FailedAttempts returns the largest numbers of failed attempts of a current iteration and of restarts of a stage.
func (c *Causes) FailedAttempts() (attempts, stages int) {
	for _, v := range c.loops {
		attempts, stages = max(attempts, v.failedAttempts), max(stages, v.stageRetries)
	}
	return attempts, stages
}

func questionAsked(c *Causes, e timeline.Entry, d event.QuestionAskedData) {
	again := ""
	if _, before := c.questions[d.ID]; before {
		again = " once more"
	}
	c.questions[d.ID] = struct{}{}
	c.answer = nil
	at := c.place(e)
	about := ""
	if at.Node != "" {
		about = " about " + at.describe()
	}
	c.add(e, Cause{Kind: Asked, Stage: e.Name, Code: d.Code, Text: fmt.Sprintf("the user was asked%s%s (%s, question %s): %s", again, about, d.Kind, d.ID, quote(d.Text))})
}

func questionAnswered(c *Causes, e timeline.Entry, d event.QuestionAnsweredData) {
	c.answer = &d
	text := fmt.Sprintf("question %s was answered%s: %s", d.ID, by(d.By), d.Answer)
	if d.Text != "" {
		text += ", " + quote(d.Text)
	}
	if d.Expired {
		text = fmt.Sprintf("no answer to question %s came in time", d.ID)
	}
	c.add(e, Cause{Kind: Answered, Text: text})
}

func hookSkipped(c *Causes, e timeline.Entry, d event.HookSkippedData) {
	if d.Warning {
		c.add(e, Cause{Kind: Hooked, Text: fmt.Sprintf("hook %d at %s was left out, since its condition could not be evaluated%s", d.Hook, d.Point, reasonSuffix(d.Reason))})
	}
}

// hookEnded adds a hook that did more than continue.
func hookEnded(c *Causes, e timeline.Entry, d event.HookCompleteData) {
	if d.Answer == event.HookContinue && d.Failure == nil && e.Type != event.HookTimeout {
		return
	}
	at := c.place(e)
	l := c.join(e, at, fmt.Sprint(d.Hook, d.Answer), Cause{Kind: Hooked}, func(l *openCause) string {
		text := fmt.Sprintf("hook %s at %s said %s", d.Action, d.Point, d.Answer)
		if l.Times > 1 {
			text = fmt.Sprintf("hook %s at %s said %s %d times", d.Action, d.Point, d.Answer, l.Times)
		}
		return text + reasonSuffix(l.detail)
	})
	l.detail = d.Reason
	if d.Failure != nil {
		l.Code, l.detail = d.Failure.Code, failure(*d.Failure)
	}
}

// controlReceived adds a request of the user.
func controlReceived(c *Causes, e timeline.Entry, d event.ControlData) {
	switch d.Action {
	case "feedback":
		c.add(e, Cause{Kind: Requested, Text: "the agents got feedback" + by(d.By) + ": " + quote(d.Text)})
	case "pause", "abort":
		c.add(e, Cause{Kind: Requested, Text: "a request to " + d.Action + " came" + by(d.By) + reasonSuffix(d.Reason)})
	}
}
