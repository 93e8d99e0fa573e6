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

// verdict says how an attempt that ended by itself at now went. Neither the exit code nor the result's
// word is enough: an API error comes with subtype "success", an interrupted run with exit code 0.
func verdict(s *stream, end cliagent.End, now time.Time) (sdk.Outcome, *failure.Error) {
	e := end.Evidence(s.events, s.tools > 0 || s.said.String() != "", now)
	if !e.Spoke {
		e.Printed = strings.Split(end.Stderr+"\n"+lastBytes(s.events.Plain.String()), "\n")
		return agent.Decide(e)
	}
	e.Fault = outcome.Fault{Words: []string{s.failed.word}, Message: s.failed.message}
	if s.final != nil {
		s.final.judge(&e)
		e.Fault.RetryAfter = s.wait(now)
	}
	return agent.Decide(e)
}

// judge adds what the result event says to what the events before it said.
func (r *resultEvent) judge(e *outcome.Evidence) {
	e.LastWord = outcome.Success
	e.Did = e.Did || strings.TrimSpace(r.Result) != ""
	for _, d := range r.PermissionDenials {
		e.Denied = append(e.Denied, d.ToolName)
	}
	if !r.IsError && r.Subtype == "success" {
		return
	}
	e.LastWord = outcome.Failure
	errors := slices.DeleteFunc(slices.Clone(r.Errors), isDiagnostic)
	message := strings.TrimSpace(strings.Join(append([]string{r.Result}, errors...), "\n"))
	e.Fault = outcome.Fault{
		Words:   append([]string{r.Subtype, r.TerminalReason, r.APIError, r.APIErrorType, r.StopReason}, e.Fault.Words...),
		Status:  r.APIErrorStatus,
		Message: cmp.Or(message, strings.TrimSuffix("ended with "+r.Subtype+" ("+r.TerminalReason+")", " ()")),
	}
}

// isDiagnostic tells lines that Claude Code writes for its own makers.
func isDiagnostic(line string) bool { return strings.HasPrefix(line, "[ede_diagnostic]") }

// wait is how long the service wants to be left alone: until the limit of a subscription is lifted, or
// as long as Claude Code waited before its last try, which is what a limiting service asked for if it
// asked. 0 if neither is known.
func (s *stream) wait(now time.Time) time.Duration {
	switch {
	case s.limit != nil && s.limit.Status == "rejected" && s.limit.ResetsAt > 0:
		return time.Unix(s.limit.ResetsAt, 0).Sub(now)
	case s.retry != nil && s.retry.ErrorStatus == http.StatusTooManyRequests:
		return time.Duration(s.retry.RetryDelayMS * float64(time.Millisecond))
	}
	return 0
}

// lastBytes is the end of a text, where a command says why it ended.
func lastBytes(text string) string {
	const limit = 1 << 10
	return text[max(0, len(text)-limit):]
}
