package claude

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// verdict returns the outcome of an attempt that was not interrupted; now is the time of its end. Exit code and subtype
// alone are unreliable: an API error has subtype "success", an interrupted run has exit code 0.
func verdict(s *stream, end cliagent.End, now time.Time) (sdk.Outcome, *failure.Error) {
	e := end.Evidence(s.events, s.tools > 0 || s.transcript.String() != "", now)
	if !e.WroteEvents {
		e.PlainLines = strings.Split(end.Stderr+"\n"+lastBytes(s.events.Plain.String()), "\n")
		return classifier.Decide(e)
	}
	e.Fault = outcome.Fault{Codes: []string{s.lastError.word}, Message: s.lastError.message}
	if s.final != nil {
		s.final.addEvidence(&e)
		e.Fault.RetryAfter = s.retryWait(now)
	}
	return classifier.Decide(e)
}

// addEvidence adds the result event to the evidence of the earlier events.
func (r *resultEvent) addEvidence(e *outcome.Evidence) {
	e.FinalStatus = outcome.Success
	e.Acted = e.Acted || strings.TrimSpace(r.Result) != ""
	for _, d := range r.PermissionDenials {
		e.DeniedTools = append(e.DeniedTools, d.ToolName)
	}
	if !r.IsError && r.Subtype == "success" {
		return
	}
	e.FinalStatus = outcome.Failure
	errors := slices.DeleteFunc(slices.Clone(r.Errors), isDiagnostic)
	message := strings.TrimSpace(strings.Join(append([]string{r.Result}, errors...), "\n"))
	e.Fault = outcome.Fault{
		Codes:   append([]string{r.Subtype, r.TerminalReason, r.APIError, r.APIErrorType, r.StopReason}, e.Fault.Codes...),
		Status:  r.APIErrorStatus,
		Message: cmp.Or(message, strings.TrimSuffix("ended with "+r.Subtype+" ("+r.TerminalReason+")", " ()")),
	}
}

// isDiagnostic reports whether a line is for the developers of Claude Code.
func isDiagnostic(line string) bool { return strings.HasPrefix(line, "[ede_diagnostic]") }

// retryWait returns the wait that the service asks for: until a subscription's limit ends, or Claude Code's own last
// wait for a rate limit, which follows the service's request. It is 0 if neither is known.
func (s *stream) retryWait(now time.Time) time.Duration {
	switch {
	case s.limit != nil && s.limit.Status == "rejected" && s.limit.ResetsAt > 0:
		return time.Unix(s.limit.ResetsAt, 0).Sub(now)
	case s.retry != nil && s.retry.ErrorStatus == http.StatusTooManyRequests:
		return time.Duration(s.retry.RetryDelayMS * float64(time.Millisecond))
	}
	return 0
}

// lastBytes returns the end of a text, where a command prints the reason of its end.
func lastBytes(text string) string {
	const limit = 1 << 10
	return text[max(0, len(text)-limit):]
}
