package attempt

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// ContextOf returns the context size of the provider's model in tokens. It fails if the provider does not state one.
func ContextOf(provider sdk.Provider, n *plan.Node) (int64, error) {
	c := provider.Describe()
	if c.Provider == nil || c.Provider.ContextTokens <= 0 {
		return 0, failure.New(failure.ConfigInvalid, "policy.budget.total of %s is \"model\", and provider %s does not say how much its model takes in", n.ID, c.Name).
			WithHint("write a number of tokens instead of \"model\"")
	}
	return c.Provider.ContextTokens, nil
}

// budget returns the attempt's spending limits, nil without limits.
func (a *attempt) budget() *sdk.Budget {
	part := a.loop().Allowance()
	if part == nil {
		return nil
	}
	return &sdk.Budget{MaxUSD: part.USD, MaxTokens: part.Tokens}
}
