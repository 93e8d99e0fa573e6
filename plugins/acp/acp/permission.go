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
func (a *attempt) handleRequest(method string, params json.RawMessage) func() any {
	if method != protocol.ClientMethodSessionRequestPermission {
		return nil
	}
	var r permissionRequest
	if !cliagent.DecodeEvent(params, &r) || r.ToolCall.ToolCallID == "" {
		return func() any { return permissionResponse("") }
	}
	asking := a.Permissions == permissionAsk
	call := a.report.prepareCall(r.ToolCall, asking)
	switch {
	case asking:
		return func() any { return a.decide(call, r.Options) }
	case a.Permissions == permissionAllow:
		return func() any { return permissionResponse(allowOption(r.Options)) }
	default:
		a.report.recordRefusal(call.CallID, refusal{tool: a.report.callTitle(call.CallID), reason: "the configuration allows nothing that needs permission"})
		return func() any { return permissionResponse(rejectOption(r.Options)) }
	}
}

// decide requests the kernel's verdict on the call and returns the answer to the agent, with the matching option.
func (a *attempt) decide(call sdk.ToolCall, options []protocol.PermissionOption) any {
	release := a.waitTime.hold()
	verdict, err := a.x.Call(a.ctx, call)
	release()
	if err != nil {
		return permissionResponse("")
	}
	result := sdk.ToolResult{Status: sdk.ToolDenied}
	about := refusal{tool: a.report.callTitle(call.CallID), reason: verdict.Reason}
	switch verdict.Action {
	case sdk.VerdictRun:
		a.report.recordAllowed(call.CallID)
		return permissionResponse(allowOption(options))
	case sdk.VerdictSkip:
		about.reason, about.quiet = "it is skipped", true
	case sdk.VerdictUse:
		result.Status = sdk.ToolSuccess
		about.reason = "it has been done already"
		if verdict.Result != nil {
			result = *verdict.Result
		}
		if len(result.Result) > 0 {
			about.reason += ", with this result: " + string(result.Result)
		}
	}
	result.CallID = call.CallID
	a.x.Result(result)
	a.report.recordRefusal(call.CallID, about)
	return permissionResponse(rejectOption(options))
}

// allowOption and rejectOption return the id of an option, "" for none. Options for a single call take precedence.
func allowOption(options []protocol.PermissionOption) protocol.PermissionOptionId {
	return findOption(options, protocol.PermissionOptionKindAllowOnce, protocol.PermissionOptionKindAllowAlways)
}

func rejectOption(options []protocol.PermissionOption) protocol.PermissionOptionId {
	return findOption(options, protocol.PermissionOptionKindRejectOnce, protocol.PermissionOptionKindRejectAlways)
}

func findOption(options []protocol.PermissionOption, kinds ...protocol.PermissionOptionKind) protocol.PermissionOptionId {
	for _, kind := range kinds {
		if i := slices.IndexFunc(options, func(o protocol.PermissionOption) bool { return o.Kind == kind }); i >= 0 {
			return options[i].OptionId
		}
	}
	return ""
}

// permissionResponse returns the answer to a request for permission. Without an option the request counts as cancelled.
func permissionResponse(option protocol.PermissionOptionId) protocol.RequestPermissionResponse {
	if option == "" {
		return protocol.RequestPermissionResponse{Outcome: protocol.NewRequestPermissionOutcomeCancelled()}
	}
	return protocol.RequestPermissionResponse{Outcome: protocol.NewRequestPermissionOutcomeSelected(option)}
}
