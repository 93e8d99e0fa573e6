package screen

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// questionAsked reports a question to the user. If the run keeps running, the lines include the command that answers the
// question. If the run pauses, that command is printed at the end of the run.
func questionAsked(at place, d event.QuestionAskedData) []string {
	again := ""
	if d.Changed {
		again = " (asked again: its subject has changed)"
	}
	lines := []string{fmt.Sprintf("  ? %s%s: %s%s", at.branchPrefix(), d.ID, Clean(d.Text), again)}
	if d.Kind == event.QuestionEscalation && d.Code != "" {
		lines = withRole(orchestrator, fmt.Sprintf("⚠ Human intervention required (%s): %s", d.Code, Clean(d.Text)))
	}
	if at.State.KeepsRunningFor(at.State.Questions[d.ID]) {
		lines = append(lines, fmt.Sprintf("    To answer it: agent-pipelines questions show %s %s", at.Session, d.ID))
	}
	return lines
}

func questionAnswered(at place, d event.QuestionAnsweredData) []string {
	if d.Expired {
		return []string{fmt.Sprintf("  ? %s%s: no answer came in time", at.branchPrefix(), d.ID)}
	}
	line := fmt.Sprintf("  ? %s%s: %s", at.branchPrefix(), d.ID, d.Answer)
	if d.By != "" {
		line += " by " + d.By
	}
	if d.Text != "" {
		line += ": " + Clean(d.Text)
	}
	return []string{line}
}

// hookEnd reports a hook that did more than continue.
func hookEnd(at place, d event.HookCompleteData) []string {
	if d.Answer == event.HookContinue && d.Failure == nil {
		return nil
	}
	line := fmt.Sprintf("  ⚑ %shook %s at %s: %s", at.branchPrefix(), d.Action, d.Point, d.Answer)
	if at.Event.Type == event.HookTimeout {
		line += " (timeout)"
	}
	switch {
	case d.Reason != "":
		line += ": " + Clean(d.Reason)
	case d.Failure != nil: // the run continues after a failed check
		line += ": " + Clean(d.Failure.Message)
	}
	if d.Context != nil {
		line += fmt.Sprintf(" (%s bytes of context)", Count(d.Context.Size))
	}
	return []string{line}
}

// hookSkipped reports a hook whose condition could not be evaluated.
func hookSkipped(at place, d event.HookSkippedData) []string {
	if !d.Warning {
		return nil
	}
	return []string{fmt.Sprintf("  ⚑ %shook %d at %s was skipped: %s", at.branchPrefix(), d.Hook, d.Point, Clean(d.Reason))}
}
