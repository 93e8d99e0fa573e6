package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	protocol "github.com/coder/acp-go-sdk"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// errorClasses maps error codes and stop reasons to classes, in addition to the codes of all agents. The numbers are
// error codes of JSON-RPC and of the protocol.
var errorClasses = map[string]outcome.Class{
	"-32000":            outcome.Login,
	"-32602":            outcome.Refused,
	"-32601":            outcome.Refused,
	"-32800":            outcome.Interrupted,
	"max_tokens":        outcome.OutputLimit,
	"max_turn_requests": outcome.TurnLimit,
	"cancelled":         outcome.Interrupted,
	noProtocol:          outcome.Config,
}

// noProtocol is the error code for a program that wrote no message of the protocol.
const noProtocol = "no_agent_client_protocol"

// classifier returns the classifier for the configured agent.
func (s setup) classifier() outcome.Agent {
	a := outcome.Agent{
		Name: s.title, FinalEvent: "its answer to the prompt", Codes: errorClasses,
		Hints: map[outcome.Class]string{
			outcome.Config: "check command in the provider's configuration: it must start an agent that speaks the Agent Client Protocol",
			outcome.Denied: "allow it by policy.approvals of the pipeline, or by permissions in the provider's configuration",
		},
	}
	if s.login != "" {
		a.Hints[outcome.Login] = s.login + "; then resume"
	}
	return a
}

// parseFault converts an error of the agent. The cause is often only in the error's data.
func parseFault(e *protocol.RequestError) outcome.Fault {
	f := outcome.Fault{Codes: []string{strconv.Itoa(e.Code)}, Message: strings.TrimSpace(e.Message)}
	data, ok := e.Data.(map[string]any)
	if !ok {
		if text, ok := e.Data.(string); ok && text != "" {
			f.Message += ": " + text
		}
		return f
	}
	for _, key := range []string{"code", "type", "kind", "errorKind", "error_type"} {
		if word, ok := data[key].(string); ok {
			f.Codes = append([]string{word}, f.Codes...)
		}
	}
	for _, key := range []string{"status", "statusCode", "status_code"} {
		if status, ok := data[key].(float64); ok {
			f.Status = cmp.Or(f.Status, int(status))
		}
	}
	for _, key := range []string{"details", "message", "error", "reason"} {
		if text := faultText(data[key]); text != "" {
			f.Message += ": " + text
			break
		}
	}
	return f
}

// faultText returns a value as readable text.
func faultText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(raw)
	}
}
