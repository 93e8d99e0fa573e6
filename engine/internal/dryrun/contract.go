package dryrun

import (
	"cmp"
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Nodes with a contract are assumed to pass their checks and to write valid artifacts, unless another outcome is
// assumed.

// check answers a check: those at the exit of a node that is assumed to fail do not pass.
func (w *walker) check(c schedule.Command) event.CheckResultData {
	d := event.CheckResultData{ID: c.Check, Passed: true}
	for _, check := range w.stage(c.Location).Checks {
		if check.ID != c.Check {
			continue
		}
		var config struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(check.Config, &config) // other values have no type
		d.Type, d.At = config.Type, cmp.Or(check.At, plan.AtExit)
		d.Skipped, d.Reason = check.SkipReason != "", check.SkipReason
	}
	if !d.Skipped && d.At == plan.AtExit && w.outcome(c.Location) == Fail {
		d.Passed, d.Reason = false, "assumed to fail"
	}
	return d
}

// inspect answers the check of a node's inputs. The content of a future artifact is unknown: the path is that of a
// run in which it is valid, and in which nothing is skipped unless that is assumed.
func (w *walker) inspect(c schedule.Command) (d event.InputCheckedData) {
	if n := w.plan.Find(c.Location.Node); n != nil && w.assumed[n.ID] == Skip {
		d.Skip, d.Reason = true, "assumed to be skipped"
	}
	return d
}

// complete ends an iteration with the assumed outcome of its node.
func (w *walker) complete(c schedule.Command) event.IterationCompleteData {
	d := event.IterationCompleteData{Decision: "continue", Stage: w.stage(c.Location).ID}
	d.Outcome = string(plan.OutcomeSuccess)
	switch o := w.outcome(c.Location); o {
	case Fail, Reject, Escalate:
		d.Outcome, d.Message = string(o), "assumed to "+string(o)
	case Stop:
		d.Decision, d.AgentDecision, d.Reason = string(Stop), string(Stop), "assumed to say stop"
	}
	return d
}

// measured returns the check results of an iteration as a strategy receives them.
func measured(l state.Loop) []json.RawMessage {
	var checks []json.RawMessage
	for _, m := range l.Measured {
		if raw, err := json.Marshal(termination.Measured{ID: m.ID, At: m.At, Passed: m.Passed, Reason: m.Reason, LeftOut: m.Skipped}); err == nil {
			checks = append(checks, raw)
		}
	}
	return checks
}
