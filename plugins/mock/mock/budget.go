package mock

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkBudget ends an attempt that would consume more than its budget, before it consumes anything.
func (p *performance) checkBudget(context.Context) error {
	b, u := p.req.Budget, p.reply.Usage
	if b == nil || u == nil || p.reply.IgnoreBudget {
		return nil
	}
	var over error
	tokens := valueOrZero(u.InputTokens) + valueOrZero(u.OutputTokens) + valueOrZero(u.CacheWriteTokens)
	switch cost := valueOrZero(u.CostUSD); {
	case b.MaxUSD != nil && cost > *b.MaxUSD:
		over = failure.New(failure.BudgetExceeded, "mock: it would cost %g USD, %g are allowed", cost, *b.MaxUSD)
	case b.MaxTokens != nil && tokens > *b.MaxTokens:
		over = failure.New(failure.BudgetExceeded, "mock: it would take %d tokens, %d are allowed", tokens, *b.MaxTokens)
	default:
		return nil
	}
	p.reply.Usage = &sdk.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)}
	p.reply.Outcome = sdk.OutcomeFailed
	return over
}

// valueOrZero is what a pointer points to, 0 for nil.
func valueOrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
