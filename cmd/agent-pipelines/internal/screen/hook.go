package screen

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// hooked tells of hooks and of questions to people.
func hooked(at place, e event.Event) []string {
	switch e.Type {
	case event.QuestionAsked:
		return personAsked(at, e)
	case event.QuestionAnswered:
		return personAnswered(e)
	case event.HookComplete, event.HookTimeout:
		return hookEnd(e)
	case event.HookSkipped:
		return hookSkipped(e)
	default:
		return nil // the end of a hook tells
	}
}

// personAsked tells of a question to a person, and of a run that waits for the answer how to give it; one that pauses
// says so at its end.
func personAsked(at place, e event.Event) []string {
	d, err := event.Decode[event.QuestionAskedData](e)
	if err != nil {
		return nil
	}
	if d.Kind == event.QuestionEscalation && d.Code != "" {
		return escalated(at, d)
	}
	again := ""
	if d.Changed {
		again = " (asked again: what was shown has changed)"
	}
	lines := []string{fmt.Sprintf("  ? %s%s: %s%s", who(e), d.ID, Clean(d.Text), again)}
	if waits(at, d.ID) {
		lines = append(lines, fmt.Sprintf("    To answer it: agent-pipelines questions show %s %s", at.Session, d.ID))
	}
	return lines
}

// escalated tells that the run cannot go on without a person; one that pauses says at its end what they can do.
func escalated(at place, d event.QuestionAskedData) []string {
	lines := as(orchestrator, fmt.Sprintf("⚠ Human intervention required (%s): %s", d.Code, Clean(d.Text)))
	if waits(at, d.ID) {
		lines = append(lines, fmt.Sprintf("    To answer it: agent-pipelines questions show %s %s", at.Session, d.ID))
	}
	return lines
}

// waits reports whether the run goes on running until the question is answered.
func waits(at place, id string) bool { return at.State.KeepsRunningFor(at.State.Questions[id]) }

func personAnswered(e event.Event) []string {
	d, err := event.Decode[event.QuestionAnsweredData](e)
	if err != nil {
		return nil
	}
	if d.Expired {
		return []string{fmt.Sprintf("  ? %s%s: nobody answered in time", who(e), d.ID)}
	}
	line := fmt.Sprintf("  ? %s%s: %s", who(e), d.ID, d.Answer)
	if d.By != "" {
		line += " by " + d.By
	}
	if d.Text != "" {
		line += ": " + Clean(d.Text)
	}
	return []string{line}
}

// hookEnd tells of a hook that does more than let the run go on.
func hookEnd(e event.Event) []string {
	d, err := event.Decode[event.HookCompleteData](e)
	if err != nil || d.Answer == event.HookContinue && d.Failure == nil {
		return nil
	}
	line := fmt.Sprintf("  ⚑ %shook %s at %s: %s", who(e), d.Action, d.Point, d.Answer)
	if e.Type == event.HookTimeout {
		line += " (timeout)"
	}
	switch {
	case d.Reason != "":
		line += ": " + Clean(d.Reason)
	case d.Failure != nil: // a check that did not pass lets the run go on
		line += ": " + Clean(d.Failure.Message)
	}
	if d.Context != nil {
		line += fmt.Sprintf(" (%s bytes of context)", Count(d.Context.Size))
	}
	return []string{line}
}

// hookSkipped tells of a hook whose condition could not be evaluated.
func hookSkipped(e event.Event) []string {
	d, err := event.Decode[event.HookSkippedData](e)
	if err != nil || !d.Warning {
		return nil
	}
	return []string{fmt.Sprintf("  ⚑ %shook %d at %s was skipped: %s", who(e), d.Hook, d.Point, Clean(d.Reason))}
}
