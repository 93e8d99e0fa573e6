package loop

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// tokenBytes is how many bytes a token is taken for where nobody counts.
const tokenBytes = 4

// leastReply is the smallest reply that is worth asking for, in tokens.
const leastReply = 64

// count adds up what a reply took, and tells the kernel.
func (l *loop) count(r model.Request, reply model.Reply) {
	l.talk.Asked = true
	l.talk.Usage = model.Add(l.talk.Usage, reply.Usage)
	if reply.Usage.InputTokens == nil && reply.Usage.OutputTokens == nil {
		l.talk.Guessed += guess(r) + int64(len(reply.Text)/tokenBytes)
	}
	if reply.Model != "" {
		l.talk.Model = reply.Model
	}
	l.Exchange.Usage(l.usage())
}

// usage is what the attempt took so far, with its cost where a price is known.
func (l *loop) usage() sdk.Usage {
	u := l.talk.Usage
	if l.Price != nil {
		u.CostUSD = l.Price(u)
	}
	return u
}

// guess is how many tokens a request has, roughly.
func guess(r model.Request) int64 {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Args)
		}
		for _, result := range m.Results {
			n += len(result.Text)
		}
	}
	for _, t := range r.Tools {
		n += len(t.Description) + len(t.Parameters)
	}
	return int64(n / tokenBytes)
}

// spent are the tokens that count against a limit: without what a cache served.
func (l *loop) spent() int64 {
	n := l.talk.Guessed
	for _, part := range []*int64{l.talk.Usage.InputTokens, l.talk.Usage.OutputTokens, l.talk.Usage.CacheWriteTokens} {
		if part != nil {
			n += *part
		}
	}
	return n
}

// afford refuses a turn that would pass the attempt's budget.
func (l *loop) afford() error {
	b := l.Request.Budget
	if b == nil {
		return nil
	}
	next := guess(l.plain())
	if b.MaxTokens != nil && l.spent()+next+leastReply > *b.MaxTokens {
		return failure.New(failure.BudgetExceeded, "turn %d would take about %d tokens; %d of %d are used", l.talk.Turn+1, next, l.spent(), *b.MaxTokens).
			WithHint("raise policy.cost, or give the agent less to do at once")
	}
	if b.MaxUSD == nil || l.Price == nil {
		return nil
	}
	zero := int64(0)
	now, then := l.Price(l.talk.Usage), l.Price(model.Add(l.talk.Usage, sdk.Usage{InputTokens: &next, OutputTokens: &zero}))
	if then != nil && *then > *b.MaxUSD {
		used := 0.0
		if now != nil {
			used = *now
		}
		return failure.New(failure.BudgetExceeded, "turn %d would pass $%.4f; $%.4f are used", l.talk.Turn+1, *b.MaxUSD, used).
			WithHint("raise policy.cost.max_usd, or give the agent less to do at once")
	}
	return nil
}

// plain is the next request, without a limit of its reply.
func (l *loop) plain() model.Request {
	return model.Request{System: l.systemPrompt(), Messages: l.talk.messages(l.Request.Prompt), Tools: l.tools}
}

// roomFor is how long a reply may be: as configured, and no more than what the budget leaves.
func (l *loop) roomFor(configured int) int {
	b := l.Request.Budget
	if b == nil || b.MaxTokens == nil {
		return configured
	}
	room := int(max(leastReply, *b.MaxTokens-l.spent()-guess(l.plain())))
	switch {
	case configured > 0:
		return min(configured, room)
	default:
		return min(room, model.DefaultMaxTokens)
	}
}
