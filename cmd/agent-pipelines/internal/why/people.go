package why

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// people tells of questions, answers, hooks and requests.
func (c *Chain) people(e timeline.Entry) {
	switch e.Type {
	case event.QuestionAsked:
		take(e, c.asks)
	case event.QuestionAnswered:
		take(e, answered(c))
	case event.HookComplete, event.HookTimeout:
		take(e, c.hooks)
	case event.HookSkipped:
		take(e, func(e timeline.Entry, d event.HookSkippedData) {
			if d.Warning {
				c.add(e, Link{What: Hooked, Text: fmt.Sprintf("hook %d at %s was left out, since its condition could not be evaluated%s", d.Hook, d.Point, because(d.Reason))})
			}
		})
	case event.Control:
		take(e, c.told)
	}
}

func (c *Chain) asks(e timeline.Entry, d event.QuestionAskedData) {
	again := ""
	if _, before := c.asked[d.ID]; before {
		again = " once more"
	}
	c.asked[d.ID] = struct{}{}
	c.answer = nil
	at := c.lane(e)
	about := ""
	if at.Node != "" {
		about = " about " + at.words()
	}
	c.add(e, Link{What: Asked, Stage: stageOf(at), Code: d.Code, Text: fmt.Sprintf("a person was asked%s%s (%s, question %s): %s", again, about, d.Kind, d.ID, quote(d.Text))})
}

// stageOf is the name of a lane's node, "" for none.
func stageOf(at lane) string {
	if at.Node == "" {
		return ""
	}
	return at.name
}

func answered(c *Chain) func(timeline.Entry, event.QuestionAnsweredData) {
	return func(e timeline.Entry, d event.QuestionAnsweredData) {
		c.answer = &d
		if d.Expired {
			c.add(e, Link{What: Answered, Text: fmt.Sprintf("nobody answered question %s in time", d.ID)})
			return
		}
		text := fmt.Sprintf("question %s was answered%s: %s", d.ID, by(d.By), d.Answer)
		if d.Text != "" {
			text += ", " + quote(d.Text)
		}
		c.add(e, Link{What: Answered, Text: text})
	}
}

// hooks takes up a hook that does more than let the run go on.
func (c *Chain) hooks(e timeline.Entry, d event.HookCompleteData) {
	if d.Answer == event.HookContinue && d.Failure == nil && e.Type != event.HookTimeout {
		return
	}
	at := c.lane(e)
	l := c.join(e, at, fmt.Sprint(d.Hook, d.Answer), Link{What: Hooked}, func(l *link) string {
		text := fmt.Sprintf("hook %s at %s said %s", d.Action, d.Point, d.Answer)
		if l.Times > 1 {
			text = fmt.Sprintf("hook %s at %s said %s %d times, the last time", d.Action, d.Point, d.Answer, l.Times)
		}
		return text + because(l.last)
	})
	l.last = d.Reason
	if d.Failure != nil {
		l.Code, l.last = d.Failure.Code, failure(*d.Failure)
	}
}

// told takes up what somebody asked of the run.
func (c *Chain) told(e timeline.Entry, d event.ControlData) {
	switch d.Action {
	case "feedback":
		c.add(e, Link{What: Told, Text: "the agents were told something" + by(d.By) + ": " + quote(d.Text)})
	case "pause", "abort":
		c.add(e, Link{What: Told, Text: "a request to " + d.Action + " came" + by(d.By) + because(d.Reason)})
	}
}
