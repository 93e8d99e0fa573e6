package why

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

func (c *Causes) questionAsked(e timeline.Entry, d event.QuestionAskedData) {
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
	c.add(e, Cause{Kind: Asked, Stage: stageName(at), Code: d.Code, Text: fmt.Sprintf("the user was asked%s%s (%s, question %s): %s", again, about, d.Kind, d.ID, quote(d.Text))})
}

// stageName returns the name of a place's node, "" for none.
func stageName(at place) string {
	if at.Node == "" {
		return ""
	}
	return at.name
}

func (c *Causes) questionAnswered(e timeline.Entry, d event.QuestionAnsweredData) {
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

func (c *Causes) hookSkipped(e timeline.Entry, d event.HookSkippedData) {
	if d.Warning {
		c.add(e, Cause{Kind: Hooked, Text: fmt.Sprintf("hook %d at %s was left out, since its condition could not be evaluated%s", d.Hook, d.Point, because(d.Reason))})
	}
}

// hookEnded adds a hook that did more than continue.
func (c *Causes) hookEnded(e timeline.Entry, d event.HookCompleteData) {
	if d.Answer == event.HookContinue && d.Failure == nil && e.Type != event.HookTimeout {
		return
	}
	at := c.place(e)
	l := c.join(e, at, fmt.Sprint(d.Hook, d.Answer), Cause{Kind: Hooked}, func(l *openCause) string {
		text := fmt.Sprintf("hook %s at %s said %s", d.Action, d.Point, d.Answer)
		if l.Times > 1 {
			text = fmt.Sprintf("hook %s at %s said %s %d times, the last time", d.Action, d.Point, d.Answer, l.Times)
		}
		return text + because(l.detail)
	})
	l.detail = d.Reason
	if d.Failure != nil {
		l.Code, l.detail = d.Failure.Code, failure(*d.Failure)
	}
}

// controlReceived adds a request of the user.
func (c *Causes) controlReceived(e timeline.Entry, d event.ControlData) {
	switch d.Action {
	case "feedback":
		c.add(e, Cause{Kind: Requested, Text: "the agents got feedback" + by(d.By) + ": " + quote(d.Text)})
	case "pause", "abort":
		c.add(e, Cause{Kind: Requested, Text: "a request to " + d.Action + " came" + by(d.By) + because(d.Reason)})
	}
}
