package mock

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Strategy is the termination strategy mock. Use [NewStrategy]. It is safe for concurrent use.
type Strategy struct{ process process }

// NewStrategy returns the strategy.
func NewStrategy() *Strategy { return &Strategy{process: currentProcess()} }

// Describe implements [sdk.Termination].
func (s *Strategy) Describe() sdk.Component {
	return sdk.Component{
		Name:         "mock",
		Summary:      "makes the configured decision of each iteration",
		ConfigSchema: schema("termination"),
		Concurrency:  sdk.ConcurrencySafe,
		Capabilities: []string{sdk.CapabilityShared},
		Needs:        &sdk.Needs{Commands: true}, // a configuration may run commands
	}
}

// Validate implements [sdk.Validator].
func (s *Strategy) Validate(_ context.Context, req sdk.ValidateRequest) error {
	_, err := decodeStrategyConfig(req.Config)
	return err
}

// Decide returns the configured decision of the iteration. Its errors are the configured ones and those of an
// unusable configuration.
func (s *Strategy) Decide(ctx context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	c, err := decodeStrategyConfig(req.Config)
	if err != nil {
		return sdk.Decision{}, err
	}
	d := c.decisionFor(req.Iteration)
	if err := s.process.applyFault(ctx, d.Fault, failure.StrategyFailed); err != nil {
		return sdk.Decision{}, err
	}
	return d.decide(req)
}

// Release implements [sdk.Releaser]: it appends the session to the file MOCK_RELEASE_FILE, an absolute path;
// without that variable it does nothing.
func (s *Strategy) Release(_ context.Context, session string) error {
	if path := s.process.getenv(envReleaseFile); path != "" {
		return appendLine(path, session)
	}
	return nil
}

// decisionFor returns the configured decision of an iteration.
func (c StrategyConfig) decisionFor(iteration int) StrategyDecision {
	switch {
	case iteration == 0 && c.Before != nil:
		return *c.Before
	case iteration == 0 || len(c.Decisions) == 0:
		return StrategyDecision{}
	default:
		return c.Decisions[min(iteration, len(c.Decisions))-1]
	}
}

// decide returns the decision for the request.
func (d StrategyDecision) decide(req sdk.DecideRequest) (sdk.Decision, error) {
	state, record, err := d.encodeState(req)
	if err != nil {
		return sdk.Decision{}, err
	}
	decision := sdk.Decision{Action: d.Action, Reason: d.Reason, Confidence: d.Confidence, State: state, Record: record}
	switch {
	case d.Action == "":
		decision.Action = sdk.DecisionContinue
	case d.Action == sdk.DecisionAsk && req.Round < max(d.Ask.Times, 1):
		decision.Question = &sdk.Question{Prompt: d.Ask.Prompt, Provider: d.Ask.Provider, Model: d.Ask.Model}
	case d.Action == sdk.DecisionAsk:
		decision.Action = d.Ask.actionFor(req.Answer)
	}
	return decision, nil
}

// actionFor returns the action for the last answer.
func (a *Ask) actionFor(answer *sdk.Answer) sdk.DecisionAction {
	action := a.Then
	switch {
	case answer == nil || answer.Error != "":
		action = a.OnError
	case a.StopIfContains != "" && strings.Contains(answer.Output, a.StopIfContains):
		action = sdk.DecisionStop
	}
	return cmp.Or(action, sdk.DecisionContinue)
}

// encodeState returns the state and the record of the decision.
func (d StrategyDecision) encodeState(req sdk.DecideRequest) (state, record json.RawMessage, err error) {
	var next StrategyState
	if d.State == nil && len(req.State) > 0 {
		if err := json.Unmarshal(req.State, &next); err != nil {
			return nil, nil, failure.New(failure.StrategyFailed, "mock: read the state: %w", err)
		}
	}
	next.Calls++
	r := StrategyRecord{Iteration: req.Iteration, Round: req.Round, Calls: next.Calls, Hint: req.Hint}
	if req.Answer != nil {
		r.Answer = req.Answer.Output
	}
	if state, err = json.Marshal(next); err != nil {
		return nil, nil, fmt.Errorf("mock: %w", err)
	}
	if record, err = json.Marshal(r); err != nil {
		return nil, nil, fmt.Errorf("mock: %w", err)
	}
	if d.State != nil {
		state = d.State
	}
	if d.Record != nil {
		record = d.Record
	}
	return state, record, nil
}
