package mock

import (
	"context"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkBudget fails an attempt that would exceed its budget, before it consumes anything.
func (p *performance) checkBudget(context.Context) error {
	b, u := p.req.Budget, p.reply.Usage
	if b == nil || u == nil || p.reply.IgnoreBudget {
		return nil
	}
	var exceeded error
	tokens := valueOrZero(u.InputTokens) + valueOrZero(u.OutputTokens) + valueOrZero(u.CacheWriteTokens)
	switch cost := valueOrZero(u.CostUSD); {
	case b.MaxUSD != nil && cost > *b.MaxUSD:
		exceeded = failure.New(failure.BudgetExceeded, "mock: the attempt would cost %g USD, %g are allowed", cost, *b.MaxUSD)
	case b.MaxTokens != nil && tokens > *b.MaxTokens:
		exceeded = failure.New(failure.BudgetExceeded, "mock: the attempt would use %d tokens, %d are allowed", tokens, *b.MaxTokens)
	default:
		return nil
	}
	p.reply.Usage = &sdk.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)}
	p.reply.Outcome = sdk.OutcomeFailed
	return exceeded
}

// valueOrZero returns the value of a pointer, 0 for nil.
func valueOrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
