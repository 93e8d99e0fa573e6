package codex

import (
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// verdict says how an attempt that has just ended by itself went. Success takes turn.completed without
// turn.failed or an error that stood last, and a clean end of the process. Failed commands of the agent
// are its own affair.
func verdict(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	e := end.Evidence(s.events, len(s.calls) > 0 || s.said.String() != "", time.Now())
	e.Fault.Message = s.trouble
	switch {
	case !e.Spoke:
		e.Printed = messages(end.Stderr + "\n" + s.events.Plain.String())
	case s.failed:
		e.LastWord = outcome.Failure
	case s.completed:
		e.LastWord = outcome.Success
		if notice.MatchString(s.trouble) {
			e.Fault = outcome.Fault{}
		}
	}
	return agent.Decide(e)
}

// messagesMax is more than Codex ever tells of; a command that prints nothing else is no Codex.
const messagesMax = 100

// messages are the lines in which Codex itself tells of an error, the first of them.
func messages(printed string) []string {
	var found []string
	for line := range strings.Lines(printed) {
		if isMessage(line) {
			found = append(found, line)
		}
		if len(found) == messagesMax {
			break
		}
	}
	return found
}
