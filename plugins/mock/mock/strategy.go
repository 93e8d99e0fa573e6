package mock

import (
	"cmp"
	"context"
	_ "embed" // the schema
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
)

// strategySchema is the JSON Schema of the configuration, and strategyRules decodes by it.
var (
	//go:embed schema/termination.json
	strategySchema []byte
	strategyRules  = schema.New(strategySchema)
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
		ConfigSchema: strategySchema,
		Capabilities: []string{sdk.CapabilityShared},
		Needs:        &sdk.Needs{Commands: true}, // a configuration may run commands
	}
}

// Validate implements [sdk.Validator].
func (s *Strategy) Validate(_ context.Context, req sdk.ValidateRequest) error {
	return strategyRules.Decode(req.Config, new(StrategyConfig))
}

// Decide returns the configured decision of the iteration. Its errors are the configured errors and the errors of an
// unusable configuration.
func (s *Strategy) Decide(ctx context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	var c StrategyConfig
	if err := strategyRules.Decode(req.Config, &c); err != nil {
		return sdk.Decision{}, err
	}
	d := c.decisionFor(req.Iteration)
	if err := s.process.applyFault(ctx, d.Fault, failure.StrategyFailed); err != nil {
		return sdk.Decision{}, err
	}
	return d.decide(req), nil
}

// decisionFor returns the configured decision of an iteration.
func (c StrategyConfig) decisionFor(iteration int) StrategyDecision {
	if iteration == 0 || len(c.Decisions) == 0 {
		return StrategyDecision{}
	}
	return c.Decisions[min(iteration, len(c.Decisions))-1]
}

// decide returns the decision for the request. A decision with a question asks it in round 0 and evaluates the answer
// later.
func (d StrategyDecision) decide(req sdk.DecideRequest) sdk.Decision {
	decision := sdk.Decision{Action: cmp.Or(d.Action, sdk.DecisionContinue), Reason: d.Reason}
	switch {
	case d.Action != sdk.DecisionAsk:
	case req.Round == 0:
		decision.Question = &sdk.Question{Prompt: d.Ask.Prompt}
	case d.Ask.StopIfContains != "" && req.Answer != nil && req.Answer.Error == "" && strings.Contains(req.Answer.Output, d.Ask.StopIfContains):
		decision.Action = sdk.DecisionStop
	default:
		decision.Action = sdk.DecisionContinue
	}
	return decision
}
