package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// actions are the actions that a response may name.
var actions = []string{
	string(sdk.ActionAbort), string(sdk.ActionContinue), string(sdk.ActionModifyContext), string(sdk.ActionPause), string(sdk.ActionRestartStage),
}

// readResponse turns the body of a successful response into an answer. An empty body means continue. A JSON object with
// context or action is an answer, whose default action is to add the context. Every other body is context itself.
//
// An error means that action or reason is invalid.
func readResponse(body []byte) (sdk.HookAnswer, error) {
	body = bytes.TrimSpace(body)
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		object = nil // the body is a text
	}
	rawContext, hasContext := object["context"]
	rawAction, hasAction := object["action"]
	if !hasContext && !hasAction {
		return firing.ContextAnswer(firing.TrimText(body)), nil
	}
	answer := firing.ContextAnswer(jsonText(rawContext))
	if hasAction {
		action, err := parseAction(rawAction)
		if err != nil {
			return sdk.HookAnswer{}, err
		}
		answer = sdk.HookAnswer{Action: action, Context: jsonText(rawContext)}
	}
	if reason, ok := object["reason"]; ok {
		if err := json.Unmarshal(reason, &answer.Reason); err != nil {
			return sdk.HookAnswer{}, fmt.Errorf("the response's reason is %.40s, want a text", reason)
		}
	}
	return answer, nil
}

func parseAction(raw json.RawMessage) (sdk.Action, error) {
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return "", fmt.Errorf("the response's action is %.40s, want a text", raw)
	}
	if slices.Contains(actions, name) {
		return sdk.Action(name), nil
	}
	if near := nearest.Name(name, actions); near != "" {
		return "", fmt.Errorf("the response's action %.40q is unknown, did you mean %q?", name, near)
	}
	return "", fmt.Errorf("the response's action %.40q is unknown: want one of %s", name, strings.Join(actions, ", "))
}

// jsonText returns the text of a JSON value: the value of a string, "" for null, else its JSON.
func jsonText(raw json.RawMessage) string {
	var s *string
	if json.Unmarshal(raw, &s) != nil {
		return firing.TrimText(raw)
	}
	if s == nil {
		return ""
	}
	return firing.TrimText([]byte(*s))
}
