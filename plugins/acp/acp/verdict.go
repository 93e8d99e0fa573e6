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

// verdict says how an attempt that ended by itself at now went. The exit code counts only where the agent
// ended before its turn did: it has no meaning in the protocol.
func (a *attempt) verdict(end cliagent.End, now time.Time) (sdk.Outcome, *failure.Error) {
	var ours *failure.Error
	if errors.As(a.err, &ours) {
		return outcomeOf(ours), ours.WithDetail(end.Stderr)
	}
	e := outcome.Evidence{Spoke: true, Did: a.report.did(), Detail: end.Stderr, Now: now}
	var refused *protocol.RequestError
	switch {
	case a.stop == protocol.StopReasonCancelled && len(a.report.deniedTools()) > 0:
		return a.denied()
	case a.stop == protocol.StopReasonEndTurn:
		e.LastWord = outcome.Success
	case a.stop != "":
		e.LastWord = outcome.Failure
		e.Fault = outcome.Fault{Words: []string{string(a.stop)}, Message: "ended its turn with " + string(a.stop)}
	case errors.As(a.err, &refused):
		e.LastWord = outcome.Failure
		e.Fault = faultOf(refused)
	case !a.peer.heard() && end.Clean():
		e.LastWord = outcome.Failure
		e.Fault = outcome.Fault{Words: []string{notSpoken}, Message: "ended without a word of the Agent Client Protocol"}
	case !a.peer.heard():
		e.Spoke, e.Process, e.Printed = false, end.Process(), strings.Split(end.Stderr, "\n")
	case a.err != nil && !errors.Is(a.err, errGone):
		e.LastWord = outcome.Failure
		e.Fault = outcome.Fault{Message: a.err.Error()}
	default:
		e.Process = end.Process()
	}
	return a.classifier().Decide(e)
}

// denied is the end of an agent that gave up when it was refused something.
func (a *attempt) denied() (sdk.Outcome, *failure.Error) {
	f := failure.New(failure.ApprovalDenied, "%s could not go on without %s, which was refused", a.title, strings.Join(a.report.deniedTools(), ", "))
	return sdk.OutcomePermissionDenied, f.WithHint("allow it by policy.approvals or an answer, or tell the agent in its prompt to do without; then resume")
}

// outcomeOf is what a failure of ours means for the attempt.
func outcomeOf(f *failure.Error) sdk.Outcome {
	if f.Kind == failure.ProviderTimeout {
		return sdk.OutcomeInfrastructure
	}
	return sdk.OutcomeFailed
}
