package acp

import (
	"errors"
	"strings"
	"time"

	protocol "github.com/coder/acp-go-sdk"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// verdict returns the outcome of an attempt that was not interrupted; now is the time of its end. The exit code counts
// only before the end of the agent's turn: it has no meaning in the protocol.
func (a *attempt) verdict(end cliagent.End, now time.Time) (sdk.Outcome, *failure.Error) {
	var ours *failure.Error
	if errors.As(a.err, &ours) {
		return failureOutcome(ours), ours.WithDetail(end.Stderr)
	}
	e := outcome.Evidence{WroteEvents: true, Acted: a.report.isActive(), Detail: end.Stderr, Now: now}
	var refused *protocol.RequestError
	switch {
	case a.stopReason == protocol.StopReasonCancelled && len(a.report.deniedTools()) > 0:
		return a.denialOutcome()
	case a.stopReason == protocol.StopReasonEndTurn:
		e.FinalStatus = outcome.Success
	case a.stopReason != "":
		e.FinalStatus = outcome.Failure
		e.Fault = outcome.Fault{Codes: []string{string(a.stopReason)}, Message: "ended its turn with " + string(a.stopReason)}
	case errors.As(a.err, &refused):
		e.FinalStatus = outcome.Failure
		e.Fault = parseFault(refused)
	case !a.peer.hasReceived() && end.Clean():
		e.FinalStatus = outcome.Failure
		e.Fault = outcome.Fault{Codes: []string{noProtocol}, Message: "ended without a message of the Agent Client Protocol"}
	case !a.peer.hasReceived():
		e.WroteEvents, e.Process, e.PlainLines = false, end.Process(), strings.Split(end.Stderr, "\n")
	case a.err != nil && !errors.Is(a.err, errGone):
		e.FinalStatus = outcome.Failure
		e.Fault = outcome.Fault{Message: a.err.Error()}
	default:
		e.Process = end.Process()
	}
	return a.classifier().Decide(e)
}

// denialOutcome returns the outcome of an agent that ended after a refusal.
func (a *attempt) denialOutcome() (sdk.Outcome, *failure.Error) {
	f := failure.New(failure.ApprovalDenied, "%s could not continue without %s, which was refused", a.title, strings.Join(a.report.deniedTools(), ", "))
	return sdk.OutcomePermissionDenied, f.WithHint("allow it by policy.approvals or an answer, or ask the agent in its prompt to do without; then resume")
}

// failureOutcome returns the outcome for a failure of the provider itself.
func failureOutcome(f *failure.Error) sdk.Outcome {
	if f.Kind == failure.ProviderTimeout {
		return sdk.OutcomeInfrastructure
	}
	return sdk.OutcomeFailed
}
