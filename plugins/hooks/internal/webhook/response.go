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

// actions are the answers that a service may name.
var actions = []string{
	string(sdk.ActionAbort), string(sdk.ActionContinue), string(sdk.ActionModifyContext), string(sdk.ActionPause), string(sdk.ActionRestartStage),
}

// readResponse makes an answer of the body of a successful response. Nothing at all goes on. A JSON
// object with context or action is an answer: its context is the text for the agents, and without an
// action the answer is to inject that. Everything else is the text for the agents itself.
//
// Errors are about an action or a reason that is none.
func readResponse(body []byte) (sdk.HookAnswer, error) {
	body = bytes.TrimSpace(body)
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		object = nil // a text
	}
	given, hasContext := object["context"]
	wanted, hasAction := object["action"]
	if !hasContext && !hasAction {
		return firing.ContextAnswer(firing.TrimText(body)), nil
	}
	answer := firing.ContextAnswer(jsonText(given))
	if hasAction {
		action, err := parseAction(wanted)
		if err != nil {
			return sdk.HookAnswer{}, err
		}
		answer = sdk.HookAnswer{Action: action, Context: jsonText(given)}
	}
	if reason, ok := object["reason"]; ok {
		if err := json.Unmarshal(reason, &answer.Reason); err != nil {
			return sdk.HookAnswer{}, fmt.Errorf("the response's reason is %.40s, want a text", reason)
		}
	}
	return answer, nil
}

func parseAction(raw json.RawMessage) (sdk.Action, error) {
	var word string
	if err := json.Unmarshal(raw, &word); err != nil {
		return "", fmt.Errorf("the response's action is %.40s, want a text", raw)
	}
	if slices.Contains(actions, word) {
		return sdk.Action(word), nil
	}
	if near := nearest.Name(word, actions); near != "" {
		return "", fmt.Errorf("the response's action %.40q is none, did you mean %q?", word, near)
	}
	return "", fmt.Errorf("the response's action %.40q is none, known are %s", word, strings.Join(actions, ", "))
}

// jsonText is the text of a JSON value: of a string what it says, of null nothing, of another value its JSON.
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
