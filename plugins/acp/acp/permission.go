package acp

import (
	"encoding/json"
	"slices"

	protocol "github.com/coder/acp-go-sdk"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// permissionRequest is session/request_permission, with the fields that the provider uses.
type permissionRequest struct {
	ToolCall toolUpdate                  `json:"toolCall"`
	Options  []protocol.PermissionOption `json:"options"`
}

// handleRequest handles a request of the agent. Agents get no access to files and terminals of the client; they have tools
// of their own for both.
func (a *attempt) asked(method string, params json.RawMessage) func() any {
	if method != protocol.ClientMethodSessionRequestPermission {
		return nil
	}
	var r permissionRequest
	if !cliagent.DecodeEvent(params, &r) || r.ToolCall.ToolCallID == "" {
		return func() any { return selected("") }
	}
	asking := a.Permissions == permissionAsk
	call := a.report.asked(r.ToolCall, asking)
	switch {
	case asking:
		return func() any { return a.decide(call, r.Options) }
	case a.Permissions == permissionAllow:
		return func() any { return selected(allowing(r.Options)) }
	default:
		a.report.refused(call.CallID, refusal{tool: a.report.titleOf(call.CallID), reason: "the configuration allows nothing that needs permission"})
		return func() any { return selected(refusing(r.Options)) }
	}
}

// decide requests the kernel's verdict on the call and returns the matching option of the agent.
func (a *attempt) decide(call sdk.ToolCall, options []protocol.PermissionOption) any {
	release := a.held.hold()
	verdict, err := a.x.Call(a.work, call)
	release()
	if err != nil {
		return selected("")
	}
	about := refusal{tool: a.report.titleOf(call.CallID), reason: verdict.Reason}
	switch verdict.Action {
	case sdk.VerdictRun:
		a.report.allowed(call.CallID)
		return selected(allowing(options))
	case sdk.VerdictSkip:
		about.reason, about.quiet = "it is skipped", true
	case sdk.VerdictUse:
		about.reason = "it has been done already"
		if verdict.Result != nil && len(verdict.Result.Result) > 0 {
			about.reason += ", with this result: " + string(verdict.Result.Result)
		}
	}
	a.report.refused(call.CallID, about)
	return selected(refusing(options))
}

// allowOption and rejectOption return an option, "" if there is none. Options for one call take precedence.
func allowing(options []protocol.PermissionOption) protocol.PermissionOptionId {
	return first(options, protocol.PermissionOptionKindAllowOnce, protocol.PermissionOptionKindAllowAlways)
}

func refusing(options []protocol.PermissionOption) protocol.PermissionOptionId {
	return first(options, protocol.PermissionOptionKindRejectOnce, protocol.PermissionOptionKindRejectAlways)
}

func first(options []protocol.PermissionOption, kinds ...protocol.PermissionOptionKind) protocol.PermissionOptionId {
	for _, kind := range kinds {
		if i := slices.IndexFunc(options, func(o protocol.PermissionOption) bool { return o.Kind == kind }); i >= 0 {
			return options[i].OptionId
		}
	}
	return ""
}

// permissionResponse returns the answer to a request for permission. Without an option the request counts as cancelled.
func selected(option protocol.PermissionOptionId) protocol.RequestPermissionResponse {
	if option == "" {
		return protocol.RequestPermissionResponse{Outcome: protocol.NewRequestPermissionOutcomeCancelled()}
	}
	return protocol.RequestPermissionResponse{Outcome: protocol.NewRequestPermissionOutcomeSelected(option)}
}
