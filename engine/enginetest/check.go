package enginetest

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Check is the result of a check, in place of the plugin's result. The zero value matches every check and passes.
type Check struct {
	// Node to Contains are selectors; all that are set must match. Node is a node's id; Visit and Iteration count from
	// 1. Checks at the entry of a node have no iteration. Contains is a substring of the check's configuration, such as
	// its command.
	Node      string
	Visit     int
	Iteration int
	Contains  string

	// Reason says why the check fails, "" if it passes.
	Reason string
	// Counts, Failed and Passing are the results of tests: their numbers and names. Default of Counts, for a
	// check of type tests: derived from the names, with one passed test if the check passes.
	Counts  map[string]int
	Failed  []string
	Passing []string
	// Failure reports that the check could not be measured.
	Failure error
}

func (c Check) matches(req sdk.HookRequest) bool {
	_, key, _ := strings.Cut(req.Key, "/") // after the run id
	_, place, _, _ := event.Key(key).Parse()
	return unsetOrEqual(c.Node, req.Node) && unsetOrEqual(c.Visit, place.Visit) && unsetOrEqual(c.Iteration, req.Iteration) &&
		strings.Contains(string(req.Config), c.Contains)
}

// checkAction is the hook action check.
type checkAction struct{ checks []Check }

// Describe implements sdk.HookAction.
func (checkAction) Describe() sdk.Component {
	return sdk.Component{Name: "check", Summary: "returns the results of the test's fixtures"}
}

// Run implements sdk.HookAction.
func (c checkAction) Run(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	var found Check
	for _, check := range c.checks {
		if check.matches(req) {
			found = check
			break
		}
	}
	if found.Failure != nil {
		return sdk.HookAnswer{}, found.Failure
	}
	return found.answer(req)
}

// answer returns the result in the format of the real action.
func (c Check) answer(req sdk.HookRequest) (sdk.HookAnswer, error) {
	var config struct{ Type string }
	if err := json.Unmarshal(req.Config, &config); err != nil {
		return sdk.HookAnswer{}, err
	}
	if c.Counts == nil && config.Type == "tests" {
		c.Counts = map[string]int{"passed": len(c.Passing), "failed": len(c.Failed), "skipped": 0}
		if c.Reason == "" {
			c.Counts["passed"] = max(1, len(c.Passing))
		}
	}
	facts := struct {
		Type    string         `json:"type"`
		Passed  bool           `json:"passed"`
		Reason  string         `json:"reason,omitempty"`
		Counts  map[string]int `json:"counts,omitempty"`
		Failed  []string       `json:"failed,omitempty"`
		Passing []string       `json:"passed_tests,omitempty"`
	}{config.Type, c.Reason == "", c.Reason, c.Counts, c.Failed, c.Passing}
	raw, err := json.Marshal(facts)
	answer := sdk.HookAnswer{Action: sdk.ActionContinue, Facts: raw}
	if !facts.Passed {
		answer.Outcome = "fail"
	}
	return answer, err
}
