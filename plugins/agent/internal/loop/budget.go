package loop

import (
	"cmp"

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
	l.conversation.Model = cmp.Or(reply.Model, l.conversation.Model)
	l.Exchange.Usage(*l.usage())
}

// usage returns the usage of the attempt so far, with its cost if prices are known; nil before the first reply.
func (l *loop) usage() *sdk.Usage {
	if !l.conversation.HasReply {
		return nil
	}
	u := l.conversation.Usage
	if l.Price != nil {
		u.CostUSD = l.Price(u)
	}
	return &u
}

// spentTokens returns the tokens that count against a limit; cache reads do not.
func (t *conversation) spentTokens() int64 {
	n := t.GuessedTokens
	for _, part := range []*int64{t.Usage.InputTokens, t.Usage.OutputTokens, t.Usage.CacheWriteTokens} {
		if part != nil {
			n += *part
		}
	}
	return n
}

// checkBudget refuses a turn of about next tokens that would exceed the attempt's budget.
func (a Attempt) checkBudget(c *conversation, next int64) error {
	b := a.Request.Budget
	if b == nil {
		return nil
	}
	if b.MaxTokens != nil && c.spentTokens()+next+minReplyTokens > *b.MaxTokens {
		return failure.New(failure.BudgetExceeded, "turn %d would take about %d tokens; %d of %d are used", c.Turn+1, next, c.spentTokens(), *b.MaxTokens).
			WithHint("raise policy.cost, or give the agent less to do at once")
	}
	if b.MaxUSD == nil || a.Price == nil {
		return nil
	}
	zero := int64(0)
	now, then := a.Price(c.Usage), a.Price(model.Add(c.Usage, sdk.Usage{InputTokens: &next, OutputTokens: &zero}))
	if then != nil && *then > *b.MaxUSD {
		used := 0.0
		if now != nil {
			used = *now
		}
		return failure.New(failure.BudgetExceeded, "turn %d would pass $%.4f; $%.4f are used", c.Turn+1, *b.MaxUSD, used).
			WithHint("raise policy.cost.max_usd, or give the agent less to do at once")
	}
	return nil
}

// baseRequest returns the next request without a limit of its reply.
func (l *loop) baseRequest() model.Request {
	return model.Request{System: l.systemPrompt(l.limit), Messages: l.conversation.messages(l.Request.Prompt), Tools: l.tools}
}

// replyLimit returns the limit of a reply in tokens: the configured one, reduced to the budget less the used tokens.
func (a Attempt) replyLimit(used int64) int {
	b := a.Request.Budget
	if b == nil || b.MaxTokens == nil {
		return a.MaxTokens
	}
	limit := int(max(minReplyTokens, *b.MaxTokens-used))
	return min(limit, cmp.Or(a.MaxTokens, model.DefaultMaxTokens))
}
