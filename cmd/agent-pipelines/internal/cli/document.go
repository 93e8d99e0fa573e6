package cli

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// NextCommands returns the commands that continue from a session's status, the most likely first.
func NextCommands(s *engine.Status) []string {
	next := ExecutableCommands(why.NextCommands(s))
	switch s.Status {
	case state.Paused, state.Failed, state.Running:
		return append(next, Program+" why "+s.Session)
	default:
		return next
	}
}

// NextCommandsOfResult returns the commands that continue after a run that ended or paused.
func NextCommandsOfResult(r *engine.Result) []string {
	return NextCommands(&engine.Status{
		Identity: inspect.Identity{Session: r.Session, Status: r.Status}, Pause: inspect.Pause{PauseKind: r.PauseKind, PauseCode: r.PauseCode},
		Failure: r.Failure, Questions: r.Questions, ResumeCommand: r.ResumeCommand,
	})
}

// ExecutableCommands returns the commands that can be executed unchanged; it omits commands with a placeholder.
func ExecutableCommands(commands []why.Command) []string {
	lines := []string{}
	for _, c := range commands {
		if !strings.HasSuffix(c.Line, " "+textPlaceholder) {
			lines = append(lines, c.Line)
		}
	}
	return lines
}

// textPlaceholder is the placeholder for the user's text in the commands that answer a question.
const textPlaceholder = "TEXT"

// AnswerCommands returns the commands that show and answer the open questions.
func AnswerCommands(all []engine.Question) []string {
	lines := []string{}
	for _, q := range all {
		if q.Answer != nil {
			continue
		}
		for _, line := range []string{q.Commands.Show, q.Commands.Approve, q.Commands.SkipFailedStep, q.Commands.Skip, q.Commands.Reject} {
			if line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
