package loop

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// countUsage adds the usage of a reply and reports the sum to the kernel.
func (l *loop) countUsage(r model.Request, reply model.Reply) {
	l.conversation.HasReply = true
	l.conversation.Usage = model.Add(l.conversation.Usage, reply.Usage)
	if reply.Usage.InputTokens == nil && reply.Usage.OutputTokens == nil {
		l.conversation.GuessedTokens += estimateTokens(r) + int64(len(reply.Text)/bytesPerToken)
	}
	if reply.Model != "" {
		l.conversation.Model = reply.Model
	}
	l.Exchange.Usage(l.usage())
}

// usage returns the usage of the attempt so far, with its cost if prices are known.
func (l *loop) usage() sdk.Usage {
	u := l.conversation.Usage
	if l.Price != nil {
		u.CostUSD = l.Price(u)
	}
	return u
}

// spentTokens returns the tokens that count against a limit; cache reads do not.
func (l *loop) spentTokens() int64 {
	n := l.conversation.GuessedTokens
	for _, part := range []*int64{l.conversation.Usage.InputTokens, l.conversation.Usage.OutputTokens, l.conversation.Usage.CacheWriteTokens} {
		if part != nil {
			n += *part
		}
	}
	return n
}

// checkBudget refuses a turn that would exceed the attempt's budget.
func (l *loop) checkBudget() error {
	b := l.Request.Budget
	if b == nil {
		return nil
	}
	next := estimateTokens(l.baseRequest())
	if b.MaxTokens != nil && l.spentTokens()+next+minReplyTokens > *b.MaxTokens {
		return failure.New(failure.BudgetExceeded, "turn %d would take about %d tokens; %d of %d are used", l.conversation.Turn+1, next, l.spentTokens(), *b.MaxTokens).
			WithHint("raise policy.cost, or give the agent less to do at once")
	}
	if b.MaxUSD == nil || l.Price == nil {
		return nil
	}
	zero := int64(0)
	now, then := l.Price(l.conversation.Usage), l.Price(model.Add(l.conversation.Usage, sdk.Usage{InputTokens: &next, OutputTokens: &zero}))
	if then != nil && *then > *b.MaxUSD {
		used := 0.0
		if now != nil {
			used = *now
		}
		return failure.New(failure.BudgetExceeded, "turn %d would pass $%.4f; $%.4f are used", l.conversation.Turn+1, *b.MaxUSD, used).
			WithHint("raise policy.cost.max_usd, or give the agent less to do at once")
	}
	return nil
}

// baseRequest returns the next request without a limit of its reply.
func (l *loop) baseRequest() model.Request {
	return model.Request{System: l.systemPrompt(), Messages: l.conversation.messages(l.Request.Prompt), Tools: l.tools}
}

// replyLimit returns the limit of a reply in tokens: the configured one, reduced to the rest of the budget.
func (l *loop) replyLimit(configured int) int {
	b := l.Request.Budget
	if b == nil || b.MaxTokens == nil {
		return configured
	}
	limit := int(max(minReplyTokens, *b.MaxTokens-l.spentTokens()-estimateTokens(l.baseRequest())))
	switch {
	case configured > 0:
		return min(configured, limit)
	default:
		return min(limit, model.DefaultMaxTokens)
	}
}
