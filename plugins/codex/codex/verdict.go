package codex

import (
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// verdict says how an attempt that ended by itself went. Success takes turn.completed without
// turn.failed, and a clean end of the process. Failed commands of the agent are its own affair.
func verdict(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	switch {
	case !s.events.Seen():
		return plainVerdict(s, end)
	case s.failed:
		return classed(s.trouble, end)
	case !s.completed:
		return unfinished(s, end)
	case !end.Clean():
		f := end.Failure()
		f.Message = "codex completed its turn but " + strings.TrimPrefix(f.Message, name+" ")
		return sdk.OutcomeInfrastructure, f
	case len(s.calls) == 0 && s.said.String() == "":
		return sdk.OutcomeEmpty, failure.New(failure.ProviderFailed, "codex ended well but said and did nothing")
	}
	return sdk.OutcomeSucceeded, nil
}

// classed is the outcome of an error that Codex reported in words.
func classed(message string, end cliagent.End) (sdk.Outcome, *failure.Error) {
	c, ok := byText(message)
	if !ok {
		c = failed
	}
	if message == "" {
		message = "the turn failed without a message"
	}
	return c.outcome, c.failure(message, end.Stderr)
}

// unfinished judges a stream without an end of the turn.
func unfinished(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	if s.trouble != "" && end.Signal == 0 {
		if _, ok := byText(s.trouble); ok {
			return classed(s.trouble, end)
		}
	}
	f := end.Failure()
	if f == nil {
		f = failure.New(failure.ProviderCrashed, "codex ended without completing its turn").WithDetail(end.Stderr)
	}
	return sdk.OutcomeInfrastructure, f
}

// plainVerdict judges a command that wrote no events: stand-ins, and every error that comes before the
// first event.
func plainVerdict(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	f := end.Failure()
	if f == nil {
		return sdk.OutcomeSucceeded, nil
	}
	if end.Signal == 0 {
		for line := range strings.Lines(end.Stderr + "\n" + s.events.Plain.String()) {
			line = strings.TrimSpace(line)
			if c, ok := byText(line); ok && isMessage(line) {
				return c.outcome, c.failure(line, end.Stderr)
			}
		}
	}
	return sdk.OutcomeInfrastructure, f
}

// isMessage tells Codex's own error messages from the work that it logs between them in text mode.
func isMessage(line string) bool {
	line = strings.ToLower(line)
	return strings.HasPrefix(line, "error") || strings.HasPrefix(line, "not inside a trusted directory")
}
