package codex

import (
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// verdict returns the outcome of an attempt that has just ended and was not interrupted. Success requires
// turn.completed without turn.failed or a last error, and a clean end of the process. Failed commands of the agent do
// not matter.
func verdict(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	e := end.Evidence(s.events, len(s.calls) > 0 || s.transcript.String() != "", time.Now())
	e.Fault.Message = s.lastError
	switch {
	case !e.WroteEvents:
		e.PlainLines = errorMessages(end.Stderr + "\n" + s.events.Plain.String())
	case s.failed:
		e.FinalStatus = outcome.Failure
	case s.completed:
		e.FinalStatus = outcome.Success
		if retryNotice.MatchString(s.lastError) {
			e.Fault = outcome.Fault{}
		}
	}
	return classifier.Decide(e)
}

// maxMessages exceeds the number of errors that Codex reports; a command that prints more is not Codex.
const maxMessages = 100

// errorMessages returns the first lines that are errors of Codex itself.
func errorMessages(printed string) []string {
	var found []string
	for line := range strings.Lines(printed) {
		if isErrorMessage(line) {
			found = append(found, line)
		}
		if len(found) == maxMessages {
			break
		}
	}
	return found
}
