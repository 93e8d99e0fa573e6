package progress

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Attempts and questions of strategies have a budget. Before a call begins, its share of the remaining budget is
// reserved in every scope that has a ceiling. When the call ends, its real usage is charged instead. So concurrent
// calls cannot exceed a ceiling together, and a crash loses nothing: interrupted calls are charged their estimate.

// roundingTolerance is the rounding error in USD that sums of money may have.
const roundingTolerance = 1e-9

// Shortfall is the reason why nothing can be reserved.
type Shortfall struct {
	CanWait bool // other calls have reserved budget and may release it
	Text    string
}

// Reserve returns the amounts to reserve for a call at a node, by scope, or the reason why nothing can be reserved.
// Both are nil if nothing is limited.
func Reserve(p *plan.Plan, s state.State, path string) (map[string]state.Amount, *Shortfall) {
	var reserved map[string]state.Amount
	for _, c := range p.Ceilings(path) {
		part, shortfall := reserveInScope(p, s, c)
		if shortfall != nil {
			return nil, shortfall
		}
		if reserved == nil {
			reserved = map[string]state.Amount{}
		}
		if other, nested := reserved[c.Scope]; nested { // an embedded pipeline and the node that embeds it
			part = part.Min(other)
		}
		reserved[c.Scope] = part
	}
	return reserved, nil
}

func reserveInScope(p *plan.Plan, s state.State, c plan.Ceiling) (part state.Amount, shortfall *Shortfall) {
	charge, reserved, pending := s.Charges[c.Scope], s.Reservations(c.Scope), pendingCalls(p, s)
	if c.Cost.MaxUSD > 0 {
		amount, shortfall := share(ceilingUsage[float64]{
			limit: c.Cost.MaxUSD * float64(1+charge.Renewals), spent: charge.USD, reserved: reserved.USD, reservedCalls: reserved.Calls, pending: pending,
			expected: c.Cost.ReserveUSD, highest: charge.HighestUSD, reported: charge.Attempts - charge.UnknownUSD,
			unreported: charge.UnknownUSD, unit: "USD", tolerance: roundingTolerance, setting: "reserve_usd",
		}, c.Scope)
		if shortfall != nil {
			return part, shortfall
		}
		part.USD = &amount
	}
	if c.Cost.MaxTokens > 0 {
		amount, shortfall := share(ceilingUsage[int64]{
			limit: c.Cost.MaxTokens * int64(1+charge.Renewals), spent: charge.Tokens, reserved: reserved.Tokens, reservedCalls: reserved.Calls, pending: pending,
			expected: c.Cost.ReserveTokens, highest: charge.HighestTokens, reported: charge.Attempts - charge.UnknownTokens,
			unreported: charge.UnknownTokens, unit: "tokens", setting: "reserve_tokens",
		}, c.Scope)
		if shortfall != nil {
			return part, shortfall
		}
		part.Tokens = &amount
	}
	return part, nil
}

// ceilingUsage is one ceiling with the usage under it.
type ceilingUsage[T int64 | float64] struct {
	limit, spent, reserved T
	reservedCalls          int // number of calls with a reservation
	pending                int // calls that share the remaining budget, including this call
	expected, highest      T
	reported, unreported   int // calls that ended and reported, or did not report, their usage
	unit                   string
	tolerance              T
	setting                string
}

// share returns the amount to reserve for one call, which is also its allowance.
//
// A call begins if its expected usage fits the remaining budget: the author's number, else the highest usage so far,
// else all. It then gets an equal share of that budget among the pending calls and may use more than earlier calls.
func share[T int64 | float64](l ceilingUsage[T], scope string) (T, *Shortfall) {
	left := l.limit - l.spent - l.reserved
	part := l.expected
	switch {
	case part > 0:
	case l.reported > 0:
		part = l.highest
	case left > l.tolerance && l.reservedCalls == 0:
		return left, nil
	default:
		part = l.limit // unknown: more than the remaining budget
	}
	if part <= left+l.tolerance && left > l.tolerance {
		return min(max(part, left/T(l.pending)), left), nil
	}
	subject := "the session"
	if scope != "" {
		subject = "node " + scope
	}
	text := fmt.Sprintf("%s of %s %s are spent in %s; the next call would exceed the limit", formatAmount(l.spent), formatAmount(l.limit), l.unit, subject)
	if l.unreported > 0 {
		text += fmt.Sprintf("; %d calls did not report their usage and are charged their reservation (policy.cost.%s)", l.unreported, l.setting)
	}
	return 0, &Shortfall{CanWait: l.reservedCalls > 0 && part <= l.limit-l.spent+l.tolerance, Text: text}
}

// formatAmount formats a number for messages, with at most six decimals.
func formatAmount[T int64 | float64](n T) string {
	return strconv.FormatFloat(math.Round(float64(n)*1e6)/1e6, 'f', -1, 64)
}

// pendingCalls returns the number of calls that share the remaining budget, the next one included.
func pendingCalls(p *plan.Plan, s state.State) int {
	n, ns := p.Find(s.At), s.Nodes[s.At]
	waiting, reserved := 0, 0
	count := func(over bool, l state.Loop) {
		switch {
		case over:
		case l.Reserved != nil:
			reserved++
		default:
			waiting++
		}
	}
	switch {
	case n == nil:
	case n.Kind == plan.KindParallel:
		for i := range n.Providers {
			b, begun := ns.Branches[n.Providers[i].ID()]
			count(begun && b.Status != state.NodeRunning, b.Loop)
		}
	case n.Steps != nil && n.Steps.Parallel:
		for _, id := range ns.Order {
			st := ns.Steps[id]
			count(st.Status != state.StepPending && st.Status != state.StepRunning, st.Loop)
		}
		waiting = min(waiting, MaxParallelSteps-reserved)
	}
	return max(waiting, 1)
}
