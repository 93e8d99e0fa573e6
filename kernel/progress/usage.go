package progress

import (
	"cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// accountUsage reserves the allowance of a call that begins, and charges the usage u of a call that ends. The loop was
// old before the event.
func (e loopEvent) accountUsage(old state.Loop, u *event.Usage) {
	p, s, l := e.plan, e.state, e.loop
	if l.Phase != old.Phase && (l.Phase == state.PhaseAttempt || l.Phase == state.PhaseAsking) {
		l.Reserved, _ = Reserve(p, *s, e.loc.Node)
		return
	}
	s.Usage = s.Usage.Plus(u)
	if old.Phase != state.PhaseAttempt && old.Phase != state.PhaseAsking || l.Phase == old.Phase {
		return
	}
	if u == nil && failedBeforeCall(e.Event) {
		u = &event.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)}
	}
	endedCall{e.loc.Node, old.Reserved, u, e.Seq}.charge(p, s)
	l.Reserved = nil
}

// failedBeforeCall reports whether an attempt or a question failed before an agent was called.
func failedBeforeCall(e event.Event) bool {
	kind := ""
	switch e.Type {
	case event.Error:
		d, _ := event.Decode[event.FailureData](e) // apply has decoded it already
		kind = d.ErrorType
	case event.StrategyAnswer:
		d, _ := event.Decode[event.StrategyAnswerData](e)
		kind = d.ErrorType
	}
	switch failure.Kind(kind) {
	case failure.ProviderMissing, failure.ConfigInvalid, failure.PluginInvalid, failure.PluginUntrusted, failure.SandboxUnavailable, failure.BudgetExceeded:
		return true
	default:
		return false
	}
}

// endedCall is a call of a provider that has ended.
type endedCall struct {
	path     string                  // of its node
	reserved map[string]state.Amount // by the scope of the ceiling
	usage    *event.Usage            // nil if unknown
	seq      int64                   // of the event that ended it
}

// charge adds the call's usage to every scope with a reservation.
func (call endedCall) charge(p *plan.Plan, s *state.State) {
	for scope := range call.reserved {
		call.chargeScope(p, s, scope)
	}
}

// chargeScope adds the call's usage to a scope. A call with unknown usage is charged its estimate.
func (call endedCall) chargeScope(p *plan.Plan, s *state.State, scope string) {
	c, part, u := s.Charges[scope], call.reserved[scope], call.usage
	c.Attempts++
	reserveUSD, reserveTokens := 0.0, int64(0)
	for _, ceiling := range p.Ceilings(call.path) {
		if ceiling.Scope == scope {
			reserveUSD, reserveTokens = max(reserveUSD, ceiling.Cost.ReserveUSD), max(reserveTokens, ceiling.Cost.ReserveTokens)
		}
	}
	switch {
	case u != nil && u.CostUSD != nil:
		c.USD += *u.CostUSD
		c.HighestUSD = max(c.HighestUSD, *u.CostUSD)
	default:
		c.UnknownUSD++
		if part.USD != nil {
			c.USD += estimate(*part.USD, reserveUSD, c.HighestUSD)
		}
	}
	switch tokens, known := countTokens(u); {
	case known:
		c.Tokens += tokens
		c.HighestTokens = max(c.HighestTokens, tokens)
	default:
		c.UnknownTokens++
		if part.Tokens != nil {
			c.Tokens += estimate(*part.Tokens, reserveTokens, c.HighestTokens)
		}
	}
	for _, ceiling := range p.Ceilings(call.path) {
		if warn := ceiling.Cost.WarnUSD; ceiling.Scope == scope && warn > 0 && c.USD >= warn && c.WarnedAt == 0 {
			c.WarnedAt = call.seq
		}
	}
	put(&s.Charges, scope, c)
}

// estimate returns the charge of a call with unknown usage: the author's number, else the highest usage so far, else
// its whole reservation.
func estimate[T int64 | float64](part, declared, highest T) T {
	return min(part, cmp.Or(declared, highest, part))
}

// countTokens returns the tokens that count against a ceiling: input and output, including cache writes, without
// cache reads.
func countTokens(u *event.Usage) (tokens int64, known bool) {
	if u == nil || u.InputTokens == nil && u.OutputTokens == nil {
		return 0, false
	}
	for _, n := range []*int64{u.InputTokens, u.OutputTokens, u.CacheWriteTokens} {
		if n != nil {
			tokens += *n
		}
	}
	return tokens, true
}

// renewCeilings adds the ceiling's amount once more in the exhausted scopes of a node. If no scope is exhausted,
// because an agent stopped short of its allowance, it renews all scopes.
func renewCeilings(p *plan.Plan, s *state.State, path string) {
	all, short := map[string]bool{}, map[string]bool{}
	for _, c := range p.Ceilings(path) {
		all[c.Scope] = true
		if _, shortfall := reserveInScope(p, *s, c); shortfall != nil {
			short[c.Scope] = true
		}
	}
	if len(short) == 0 {
		short = all
	}
	for scope := range short {
		charge := s.Charges[scope]
		charge.Renewals++
		put(&s.Charges, scope, charge)
	}
}
