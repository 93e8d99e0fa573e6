package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// decideStop ends or pauses the run once nothing is in flight. A pause lets an attempt finish unless it waits for the
// user; an abort cancels it.
func decideStop(s state.State) []Command {
	if s.Status == state.Running {
		if cmds := cancelInFlight(s); len(cmds) > 0 {
			if s.Stop.Action == "abort" {
				return cmds
			}
			return unansweredCancels(s, cmds)
		}
	}
	if s.Stop.Action == "abort" {
		return record(event.New(event.SessionAborted, currentCursor(s), "",
			event.SessionAbortedData{Reason: s.Stop.Reason, By: s.Stop.By}))
	}
	if s.Status != state.Running {
		return nil
	}
	d := event.SessionPausedData{Kind: string(s.Stop.Kind), Reason: s.Stop.Reason, By: s.Stop.By}
	d.Question, d.Code = deferredEscalation(s)
	return record(event.New(event.SessionPaused, currentCursor(s), "", d))
}

// deferredEscalation returns id and code of the escalation that the run pauses for, empty if it stops for another
// reason.
func deferredEscalation(s state.State) (id, code string) {
	if s.Stop.Kind != state.PauseEscalation {
		return "", ""
	}
	for _, id := range s.UnansweredQuestions() {
		if q := s.Questions[id]; q.Kind == event.QuestionEscalation {
			return id, q.Code
		}
	}
	return "", ""
}

// unansweredCancels returns the cancel commands for attempts that wait for the user: pausing the run does not answer
// their questions.
func unansweredCancels(s state.State, cancels []Command) []Command {
	var cmds []Command
	for _, c := range cancels {
		for _, id := range s.UnansweredQuestions() {
			if q := s.Questions[id]; q.Kind == event.QuestionTool && q.Key == c.Key {
				c.Cause = &event.FailureData{
					ErrorType: string(failure.SignalInterrupt), Message: "the run was paused while a question was open: " + q.Text,
					Remedy: "resume the session to be asked about the call again", ResumeCommand: failure.Next("resume", s.Session).String(),
				}
				cmds = append(cmds, c)
				break
			}
		}
	}
	return cmds
}

// cancelInFlight returns the cancel commands for everything in flight, ordered by node path and branch.
func cancelInFlight(s state.State) []Command {
	var cmds []Command
	for _, e := range s.EffectsInFlight() {
		cmds = append(cmds, Command{Kind: Cancel, Key: e.Key, Location: e.Location})
	}
	return cmds
}
