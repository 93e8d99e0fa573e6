package enginetest

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Check is what a check measures, in place of the plugin that would. The zero value is for every check and passes.
type Check struct {
	// Which checks it is for; all that are set must hold. Node is a node's id; Visit and Iteration count from 1, and
	// the checks at the entry of a node belong to no iteration; Contains is a text of the check's own keys, such as
	// its command.
	Node      string
	Visit     int
	Iteration int
	Contains  string

	// Reason says why it does not pass; "": it passes.
	Reason string
	// Counts, Failed and Passing are what tests came to: their numbers, and their names. Default of Counts, for a check
	// of type tests: passed, failed and skipped by the names, and one that passed where the check passes.
	Counts  map[string]int
	Failed  []string
	Passing []string
	// Failure says that nothing could be measured at all.
	Failure error
}

func (c Check) fits(req sdk.HookRequest) bool {
	_, place, _, _ := event.Key(req.Key).Parse()
	return same(c.Node, req.Node) && same(c.Visit, place.Visit) && same(c.Iteration, req.Iteration) &&
		strings.Contains(string(req.Config), c.Contains)
}

// checker is the hook action check.
type checker struct{ checks []Check }

// Describe implements sdk.HookAction.
func (checker) Describe() sdk.Component {
	return sdk.Component{Name: "check", Summary: "measures what the fixtures of a test say"}
}

// Run implements sdk.HookAction.
func (c checker) Run(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	var found Check
	for _, check := range c.checks {
		if check.fits(req) {
			found = check
			break
		}
	}
	if found.Failure != nil {
		return sdk.HookAnswer{}, found.Failure
	}
	return found.answer(req)
}

// answer says it in the words of the true action.
func (c Check) answer(req sdk.HookRequest) (sdk.HookAnswer, error) {
	var of struct{ Type string }
	if err := json.Unmarshal(req.Config, &of); err != nil {
		return sdk.HookAnswer{}, err
	}
	if c.Counts == nil && of.Type == "tests" {
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
	}{of.Type, c.Reason == "", c.Reason, c.Counts, c.Failed, c.Passing}
	raw, err := json.Marshal(facts)
	answer := sdk.HookAnswer{Action: sdk.ActionContinue, Facts: raw}
	if !facts.Passed {
		answer.Outcome = "fail"
	}
	return answer, err
}
