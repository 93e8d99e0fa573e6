package attempt

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// ContextOf is how many tokens the provider's model takes in. It fails where the provider does not say.
func ContextOf(provider sdk.Provider, n *plan.Node) (int64, error) {
	c := provider.Describe()
	if c.Provider == nil || c.Provider.ContextTokens <= 0 {
		return 0, failure.New(failure.ConfigInvalid, "policy.budget.total of %s is \"model\", and provider %s does not say how much its model takes in", n.ID, c.Name).
			WithHint("write a number of tokens instead of \"model\"")
	}
	return c.Provider.ContextTokens, nil
}

// budget is what the attempt may consume, nil where no ceiling holds.
func (a *attempt) budget() *sdk.Budget {
	part := a.loop().Allowance()
	if part == nil {
		return nil
	}
	return &sdk.Budget{MaxUSD: part.USD, MaxTokens: part.Tokens}
}
