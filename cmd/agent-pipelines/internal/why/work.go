package why

import (
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// work tells of iterations, attempts, checks and steps.
func (c *Chain) work(e timeline.Entry) {
	at := c.lane(e)
	switch e.Type {
	case event.IterationStart:
		c.at(at).tries, c.timer = 0, nil
	case event.IterationComplete:
		take(e, func(_ timeline.Entry, d event.IterationCompleteData) {
			v := c.at(at)
			v.iterations++
			v.tries, v.stop, v.settled = 0, nil, nil
			if d.Outcome != "" {
				v.settled = &d
			}
		})
	case event.JudgeComplete:
		take(e, func(_ timeline.Entry, d event.JudgeCompleteData) { c.at(at).unsaid = d.Status != "success" })
	case event.Decision:
		take(e, c.decides)
	case event.Error:
		take(e, c.fails)
	case event.Retry:
		take(e, c.retries)
	case event.CheckResult:
		take(e, c.measures)
	case event.StepComplete, event.StepBlocked:
		c.steps(e, at)
	case event.StageTimeout:
		take(e, func(e timeline.Entry, d event.FailureData) {
			c.add(e, Link{What: Limited, Stage: at.name, Code: d.Code, Text: "the time was used up" + because(d.Message)})
		})
	case event.BudgetWarning:
		take(e, func(e timeline.Entry, d event.BudgetWarningData) {
			c.add(e, Link{What: Limited, Text: fmt.Sprintf("more than the $%.2f was spent at which to warn ($%.4f)", d.WarnUSD, d.SpentUSD)})
		})
	case event.TimerSet:
		take(e, func(e timeline.Entry, d event.TimerSetData) {
			if d.Purpose != "guardrail" {
				c.timer = &timer{d.Purpose, e.Key, e.Time.Add(d.After)}
			}
		})
	case event.TimerFired, event.AttemptStart:
		c.timer = nil
	}
}

// decides takes up what a strategy said.
func (c *Chain) decides(e timeline.Entry, d event.DecisionData) {
	at := c.lane(e)
	v := c.at(at)
	switch d.Action {
	case "stop":
		v.stop = &d
	case "continue":
		reason := d.Reason
		if v.unsaid && d.Round > 0 {
			reason = "no verdict: " + reason
		}
		l := c.join(e, at, d.Strategy, Link{What: WentOn}, func(l *link) string { return wentOn(l, at, d.Strategy) })
		l.said.add(reason, at.Iteration)
		v.unsaid = false
	}
}

// wentOn says which iterations were followed by another one, and why.
func wentOn(l *link, at lane, strategy string) string {
	if l.From == 0 && l.To == 0 {
		return fmt.Sprintf("%s was to be worked on: %s said: %s", at.words(), strategy, l.said.text())
	}
	text := iterationsWords(l.From, l.To) + " of " + at.words() + " went on: "
	if said := l.said.text(); said != "" {
		return text + strategy + " said " + said
	}
	return text + strategy + " had more iterations to make"
}

// iterationsWords are "iteration 3", or "iterations 3–97".
func iterationsWords(from, to int) string {
	if from == to {
		return fmt.Sprintf("iteration %d", from)
	}
	return fmt.Sprintf("iterations %d–%d", from, to)
}

// fails takes up an attempt that failed. What comes when the run rests repeats the failure of its node.
func (c *Chain) fails(e timeline.Entry, d event.FailureData) {
	if c.stopped != nil {
		return
	}
	at := c.lane(e)
	c.at(at).tries++
	first := max(d.Attempt, e.Attempt)
	l := c.join(e, at, d.ErrorType, Link{What: Tried, Code: d.Code}, func(l *link) string {
		if l.Times == 1 {
			return fmt.Sprintf("attempt %d of iteration %d of %s failed: %s", max(first, 1), l.From, at.words(), l.last)
		}
		return fmt.Sprintf("%d attempts of %s of %s failed, the last with: %s", l.Times, iterationsWords(l.From, l.To), at.words(), l.last)
	})
	l.last = failure(d)
}

// retries says of the attempt that failed last what was done about it.
func (c *Chain) retries(e timeline.Entry, d event.RetryData) {
	at := c.lane(e)
	tried := c.lastOf(Tried)
	var text string
	switch d.Rung {
	case event.RungStage:
		stage := at
		stage.Step = ""
		c.at(stage).stages++
		c.close()
		c.add(e, Link{What: Anew, Stage: at.name, Provider: at.Branch, Text: fmt.Sprintf("%s began anew, since its attempts were used up (stage retry %d of %d)", stage.words(), d.N-1, d.Max-1)})
		return
	case event.RungArtifact:
		text = "the agent was asked again for its artifact"
	default:
		text = fmt.Sprintf("it was made again (attempt %d of %d)", d.N, d.Max)
	}
	if tried == nil {
		return
	}
	tried.last = strings.TrimRight(strings.SplitN(tried.last, retried, 2)[0], ";") + retried + text
}

// retried stands between a failure and what was done about it.
const retried = "; "

// lastOf is the newest link of a kind.
func (c *Chain) lastOf(what What) *link {
	for i := len(c.links) - 1; i >= 0 && i >= len(c.links)-20; i-- {
		if c.links[i].What == what {
			return c.links[i]
		}
	}
	return nil
}

// measures takes up a check that did not pass.
func (c *Chain) measures(e timeline.Entry, d event.CheckResultData) {
	if d.Passed {
		return
	}
	at := c.lane(e)
	l := c.join(e, at, d.ID, Link{What: Measured}, func(l *link) string {
		text := fmt.Sprintf("check %s did not pass in %s of %s", d.ID, iterationsWords(l.From, l.To), at.words())
		if l.From == 0 {
			text = fmt.Sprintf("check %s did not pass before %s", d.ID, at.words())
		}
		if l.Times > 1 {
			text += fmt.Sprintf(" (%d times, the last one", l.Times)
			return text + because(l.last) + ")"
		}
		return text + because(l.last)
	})
	l.last = d.Reason
	if d.Failure != nil {
		l.last = failure(*d.Failure)
	}
}

// steps takes up how steps end. Those that were made are one link.
func (c *Chain) steps(e timeline.Entry, at lane) {
	at.Step, at.Iteration = "", 0
	if e.Type == event.StepBlocked {
		take(e, func(e timeline.Entry, d event.StepBlockedData) {
			l := c.join(e, at, "blocked", Link{What: Stepped}, func(l *link) string {
				return fmt.Sprintf("%s of %s cannot be made, since a step before failed: %s", screen.Plural(l.Times, "step"), at.name, l.last)
			})
			l.last = strings.TrimPrefix(l.last+", "+d.Step, ", ")
			if len(l.last) > maxQuote {
				l.last = d.Step
			}
		})
		return
	}
	take(e, func(e timeline.Entry, d event.StepCompleteData) {
		if d.Status == "failed" {
			l := Link{What: Stepped, Stage: at.name, Text: fmt.Sprintf("step %s of %s failed%s", d.Step, at.name, because(d.Reason))}
			if d.Failure != nil {
				l.Code, l.Text = d.Failure.Code, fmt.Sprintf("step %s of %s failed: %s", d.Step, at.name, failure(*d.Failure))
			}
			c.add(e, l)
			return
		}
		l := c.join(e, at, "made", Link{What: Stepped}, func(l *link) string { return l.last })
		l.last = fmt.Sprintf("%d of %d steps of %s were made", d.Done, d.Total, at.name)
	})
}

// Waiting says what the run waits for by itself: until when, and what for. ok is false for nothing.
func (c *Chain) Waiting() (until time.Time, what string, ok bool) {
	if c.timer == nil || !c.alive {
		return time.Time{}, "", false
	}
	what = "before the next iteration"
	if c.timer.purpose == "backoff" {
		what = "before the attempt that failed is made again"
	}
	return c.timer.due, what, true
}

// Tries are how many attempts failed in the last iteration that failed, and how often its stage began anew.
func (c *Chain) Tries() (attempts, stages int) {
	for _, v := range c.visits {
		attempts, stages = max(attempts, v.tries), max(stages, v.stages)
	}
	return attempts, stages
}
