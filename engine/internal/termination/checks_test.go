package termination

import (
	"encoding/json"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// U085 and part 6: the checks after the iteration decide, and nothing that the agent says.
func TestChecks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		checks []string
		want   sdk.Decision
	}{
		{"all passed", []string{`{"id":"a","at":"exit","passed":true}`, `{"id":"b","at":"exit","passed":true}`}, sdk.Decision{Action: sdk.DecisionStop, Reason: "checks passed"}},
		{"some did not", []string{`{"id":"a","at":"exit","passed":true}`, `{"id":"b","at":"exit","passed":false}`, `{"id":"c","at":"exit","error":"no program"}`}, sdk.Decision{Action: sdk.DecisionContinue, Reason: "did not pass: b, c"}},
		{"those at the entry do not count", []string{`{"id":"a","at":"enter","passed":false}`, `{"id":"b","at":"exit","passed":true}`}, sdk.Decision{Action: sdk.DecisionStop, Reason: "checks passed"}},
		{"one is left out", []string{`{"id":"a","at":"exit","passed":true,"left_out":true}`, `{"id":"b","at":"exit","passed":false}`}, sdk.Decision{Action: sdk.DecisionContinue, Reason: "did not pass: b"}},
		{"all are left out", []string{`{"id":"a","at":"exit","passed":true,"left_out":true}`}, sdk.Decision{Action: sdk.DecisionError, Reason: "no check was made after the iteration"}},
		{"none", []string{`{"id":"a","at":"enter","passed":true}`}, sdk.Decision{Action: sdk.DecisionError, Reason: "no check was made after the iteration"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := sdk.DecideRequest{Hint: "stop", Iteration: 9, Max: 3}
			for _, c := range tt.checks {
				req.Checks = append(req.Checks, json.RawMessage(c))
			}
			got := testkit.Must(Checks{}.Decide(t.Context(), req))
			testkit.Equal(t, tt.want, got)
		})
	}
	if _, err := (Checks{}).Decide(t.Context(), sdk.DecideRequest{Checks: []json.RawMessage{json.RawMessage("[")}}); err == nil {
		t.Error("a broken check was accepted")
	}
}

// Every strategy receives the check results; after a stage retry it counts from the start, with the results since
// then.
func TestAskAfterAStageRetry(t *testing.T) {
	var got sdk.DecideRequest
	b := newBench(t, func(req sdk.DecideRequest) (sdk.Decision, error) {
		got = req
		return sdk.Decision{Action: sdk.DecisionContinue}, nil
	})
	ref := testkit.Must(b.asker.Dir.Write("stage-00-polish/iterations/003/checks/tests.json", []byte(`{"counts":{"failed":1}}`+"\n")))
	last := testkit.Must(b.asker.Dir.Write("stage-00-polish/iterations/003/output.md", []byte("third")))
	b.loop(func(l *state.Loop) {
		l.Iteration, l.Completed, l.Before = 3, 3, 2
		l.Measured = []state.Measurement{
			{ID: "before", At: "enter", Passed: true}, {ID: "tests", At: "exit", Reason: "1 failed", Facts: &ref}, {ID: "lint", At: "exit", Failure: &event.FailureData{Message: "no linter"}},
		}
	})
	b.ask(t)
	if got.Iteration != 1 {
		t.Errorf("iteration %d", got.Iteration)
	}
	testkit.Equal(t, []sdk.FileRef{{Path: b.asker.Dir.Abs(last.Path)}}, got.Outputs)
	var checks []string
	for _, c := range got.Checks {
		checks = append(checks, string(c))
	}
	want := []string{
		`{"id":"before","at":"enter","passed":true}`, `{"id":"tests","at":"exit","passed":false,"reason":"1 failed","facts":{"counts":{"failed":1}}}`,
		`{"id":"lint","at":"exit","passed":false,"error":"no linter"}`,
	}
	testkit.Equal(t, want, checks)
}
