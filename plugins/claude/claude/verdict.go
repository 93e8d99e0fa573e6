package claude

import (
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// verdict says how an attempt that ended by itself went. Neither the exit code nor the result's word
// is enough: an API error comes with subtype "success", an interrupted run with exit code 0.
func verdict(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	switch {
	case !s.events.Seen():
		return plainVerdict(s, end)
	case s.final == nil:
		return unfinished(s, end)
	case s.final.IsError || s.final.Subtype != "success":
		return reported(s, end)
	case !end.Clean():
		f := end.Failure()
		f.Message = "claude reported success but " + strings.TrimPrefix(f.Message, name+" ")
		return sdk.OutcomeInfrastructure, f
	case len(s.final.PermissionDenials) > 0:
		return sdk.OutcomePermissionDenied, denied(s.final.PermissionDenials)
	case s.tools == 0 && s.said.String() == "" && strings.TrimSpace(s.final.Result) == "":
		return sdk.OutcomeEmpty, failure.New(failure.ProviderFailed, "claude ended well but said and did nothing")
	}
	return sdk.OutcomeSucceeded, nil
}

// plainVerdict judges a command that wrote no events: older versions, stand-ins, and every error that
// comes before the first event.
func plainVerdict(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	f := end.Failure()
	if f == nil {
		return sdk.OutcomeSucceeded, nil
	}
	if end.Signal == 0 {
		for line := range strings.Lines(end.Stderr + "\n" + lastLines(s.events.Plain.String())) {
			if c, ok := byText(line); ok {
				return c.outcome, c.failure(strings.TrimSpace(line), end.Stderr)
			}
		}
	}
	return sdk.OutcomeInfrastructure, f
}

// unfinished judges a stream without a result.
func unfinished(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	f := end.Failure()
	if f == nil {
		f = failure.New(failure.ProviderCrashed, "claude ended without its result event").WithDetail(end.Stderr)
	}
	if c, ok := byWord(s.failed); ok {
		return c.outcome, c.failure(f.Message, end.Stderr)
	}
	return sdk.OutcomeInfrastructure, f
}

// reported judges a result that says itself that something went wrong.
func reported(s *stream, end cliagent.End) (sdk.Outcome, *failure.Error) {
	r := s.final
	message := firstLine(strings.Join(append([]string{r.Result}, r.Errors...), "\n"))
	switch r.Subtype {
	case "error_max_turns":
		return sdk.OutcomeFailed, tooManyTurns.failure(message, end.Stderr)
	case "error_max_budget_usd":
		return sdk.OutcomeFailed, tooExpensive.failure(message, end.Stderr)
	}
	if message == "" {
		message = "ended with " + r.Subtype + " (" + r.TerminalReason + ")"
	}
	c := s.class(message)
	f := c.failure(message, end.Stderr)
	if c.outcome == sdk.OutcomeRateLimited && s.retry != nil {
		f.RetryAfterSeconds = s.retry.RetryDelayMS / 1000
	}
	return c.outcome, f
}

// class finds out what kind of error the result tells of, the surest sign first.
func (s *stream) class(message string) class {
	if c, ok := byWord(s.final.TerminalReason); ok {
		return c
	}
	if c, ok := byStatus(s.final.APIErrorStatus); ok {
		return c
	}
	for _, word := range []string{s.final.APIError, s.failed} {
		if c, ok := byWord(word); ok {
			return c
		}
	}
	if c, ok := byText(message); ok {
		return c
	}
	return failed
}

func denied(denials []denial) *failure.Error {
	var tools []string
	for _, d := range denials {
		tools = append(tools, d.ToolName)
	}
	f := failure.New(failure.ProviderFailed, "claude was refused permission for %s", strings.Join(tools, ", "))
	f.Retryable = false
	return f.WithHint("allow the tools by args (--allowedTools) or a wider permission_mode in the configuration of provider claude")
}

// firstLine is the first line with text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// lastLines is the end of a text, where a command says why it ended.
func lastLines(text string) string {
	const limit = 1 << 10
	return text[max(0, len(text)-limit):]
}
