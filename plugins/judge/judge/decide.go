package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// State is the strategy's state, which the kernel keeps from one decision to the next.
type State struct {
	// Stops is the number of stops in a row, by the judge or, under PLATEAU_TEST_MODE, by the agents.
	Stops int `json:"stops"`
	// JudgeFailures is the number of decisions in a row that the judge failed to make.
	JudgeFailures int `json:"judge_failures"`
}

// Decide asks the judge once the stage has its minimum of iterations, and stops after as many stops in a row as
// consensus demands. A failure of the judge does not change the number of stops. After max_failures failures in a row
// Decide asks no more questions. An agent that reports an error ends the stage at once.
//
// JUDGE_PROMPT_PATH or judge.prompt names the file of the prompt template. By default it is the first of
// these files that exists and is not empty:
//
//   - prompts/judge.md in the user's directory $XDG_CONFIG_HOME/agent-pipelines, or ~/.config/agent-pipelines
//   - scripts/prompts/judge.md in the shared directory AGENT_PIPELINES_ROOT
//   - scripts/prompts/judge.md in the work directory
//
// Errors are config_invalid for an unusable configuration or a missing prompt, and strategy_failed for an unreadable
// file or state. Under on_judge_failure: fail, an unreliable judge is the error judge_error.
func (s *Strategy) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	c, err := s.readSettings(req.Config)
	if err != nil {
		return sdk.Decision{}, err
	}
	var state State
	if len(req.State) > 0 {
		if err := json.Unmarshal(req.State, &state); err != nil {
			return sdk.Decision{}, failure.New(failure.StrategyFailed, "judge: read the state of the last decision: %w", err)
		}
	}
	switch {
	case req.Hint == "error":
		return state.newDecision(sdk.DecisionError, "the agent reported an error"), nil
	case req.Iteration < max(int(c.MinIterations), 1):
		return state.newDecision(sdk.DecisionContinue, fmt.Sprintf("min_iterations is %d", c.MinIterations)), nil
	case c.agentsDecide:
		return state.countAgentStop(req.Hint == "stop", c), nil
	case state.JudgeFailures >= int(c.Judge.MaxFailures):
		return state.decideUnreliable(c, reasonUnreliable)
	case req.Answer == nil:
		return s.askJudge(state, c, req)
	case req.Answer.Error != "" && req.Round < int(c.Judge.Attempts):
		return s.askJudge(state, c, req)
	case req.Answer.Error != "":
		return state.countFailure(c, reasonInvokeFailed)
	}
	verdict, record, ok := parseReply(req.Answer.Output)
	if !ok {
		return state.countFailure(c, reasonInvalidJSON)
	}
	return state.countVerdict(verdict, record, c), nil
}

// askJudge returns the decision to ask the judge. Under MOCK_MODE a missing prompt means to continue instead.
func (s *Strategy) askJudge(state State, c settings, req sdk.DecideRequest) (sdk.Decision, error) {
	template, err := s.readTemplate(c, req.WorkDir)
	if err != nil && s.getenv(envMock) == "true" {
		return state.newDecision(sdk.DecisionContinue, "no judge prompt, and a mock would answer it"), nil
	}
	if err != nil {
		return sdk.Decision{}, err
	}
	prompt, err := fillTemplate(template, c, req)
	if err != nil {
		return sdk.Decision{}, err
	}
	d := state.newDecision(sdk.DecisionAsk, "")
	d.Question = &sdk.Question{Prompt: prompt, Provider: c.Judge.Provider, Model: c.Judge.Model}
	return d, nil
}

// countVerdict turns a verdict into a decision.
func (state State) countVerdict(v Verdict, record json.RawMessage, c settings) sdk.Decision {
	state.JudgeFailures = 0
	state.Stops++
	if !v.Stop {
		state.Stops = 0
	}
	d := state.newDecision(sdk.DecisionContinue, v.Reason)
	switch {
	case state.Stops >= int(c.Consensus):
		d.Action = sdk.DecisionStop
		d.Reason = cmp.Or(v.Reason, fmt.Sprintf("the judge said stop %d times in a row", state.Stops))
	case v.Stop:
		d.Reason = fmt.Sprintf("stop suggested but not confirmed (%d/%d)", state.Stops, c.Consensus)
		if v.Reason != "" {
			d.Reason += ": " + v.Reason
		}
	}
	d.Confidence, d.Record = v.Confidence, record
	return d
}

// countAgentStop decides by the stop hints of the agents.
func (state State) countAgentStop(stop bool, c settings) sdk.Decision {
	state.Stops++
	if !stop {
		state.Stops = 0
	}
	if state.Stops >= int(c.Consensus) {
		return state.newDecision(sdk.DecisionStop, fmt.Sprintf("%d agents in a row asked to stop", state.Stops))
	}
	return state.newDecision(sdk.DecisionContinue, fmt.Sprintf("%d of %d agents in a row asked to stop", state.Stops, c.Consensus))
}

// countFailure counts a decision without a verdict; reason is the failure.
func (state State) countFailure(c settings, reason string) (sdk.Decision, error) {
	state.JudgeFailures++
	if state.JudgeFailures >= int(c.Judge.MaxFailures) {
		return state.decideUnreliable(c, reason)
	}
	return state.newDecision(sdk.DecisionContinue, reason), nil
}

// decideUnreliable continues without the judge, or fails. reason is the last failure of the judge.
func (state State) decideUnreliable(c settings, reason string) (sdk.Decision, error) {
	if c.OnJudgeFailure == onFailureFail {
		return sdk.Decision{}, failure.New(failure.JudgeError, "the judge (provider %s) failed %d times in a row, last: %s",
			c.Judge.Provider, state.JudgeFailures, reason).
			WithHint("read judge.log of the last iterations; set another judge in termination.judge, or continue without one with on_judge_failure: continue")
	}
	return state.newDecision(sdk.DecisionContinue, reasonUnreliable), nil
}

func (state State) newDecision(action sdk.DecisionAction, reason string) sdk.Decision {
	return sdk.Decision{Action: action, Reason: reason, State: mustEncode(state)}
}
