package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Attempts and questions of strategies have a budget. Before one begins, its share of the rest is reserved in every
// scope that has a ceiling; when it ends, its real usage is charged instead. So concurrent calls cannot exceed a
// ceiling together, and a crash loses nothing: interrupted calls are charged their estimate.

// roundingTolerance is the error that sums of money may have.
const roundingTolerance = 1e-9

// checkBudget reports whether a call at the location is affordable. If not, it waits for others to end, or the
// commands settle the loop as over its budget.
func checkBudget(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) (cmds []Command, affordable bool) {
	if passesSteps(n, loc) || l.Check == state.CheckDue {
		return nil, true
	}
	_, shortfall := reserve(p, s, loc.Node)
	switch {
	case shortfall == nil:
		return nil, true
	case shortfall.canWait:
		return nil, false
	}
	key := loc.Key(event.KeyQuestion, l.Round+1)
	if l.Phase == state.PhaseReady {
		loc.Iteration = l.Completed + 1
		key = loc.Key(event.KeyAttempt, l.Attempt+1)
	}
	d := event.FailureData{
		Code: failure.BudgetExceeded.Code(), ErrorType: string(failure.BudgetExceeded), Node: n.ID, Stage: n.ID, Step: loc.Step,
		Iteration: loc.Iteration, Message: shortfall.text,
		Remedy: "resume allows the same amount again; policy.cost sets the limit, and a session keeps its plan",
	}
	return record(event.New(event.Error, loc.Cursor(), key, d)), false
}

// insufficientBudget is the reason why nothing can be reserved.
type insufficientBudget struct {
	canWait bool // other calls have reserved the rest and may release it
	text    string
}

// reserve returns the amounts to reserve for a call at a node, by scope; nil if nothing is limited.
func reserve(p *plan.Plan, s state.State, path string) (map[string]state.Amount, *insufficientBudget) {
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

func reserveInScope(p *plan.Plan, s state.State, c plan.Ceiling) (part state.Amount, shortfall *insufficientBudget) {
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
	pending                int // calls that share the rest, this one included
	expected, highest      T
	reported, unreported   int // calls that ended and reported, or did not report, their usage
	unit                   string
	tolerance              T
	setting                string
}

// share returns the amount to reserve for one call, which is also its allowance.
//
// A call begins if its expected usage is left: the author's number, else the highest usage so far, else everything.
// It then gets an equal share of the rest among the pending calls, so that a call may use more than earlier ones.
func share[T int64 | float64](l ceilingUsage[T], scope string) (T, *insufficientBudget) {
	left := l.limit - l.spent - l.reserved
	part := l.expected
	switch {
	case part > 0:
	case l.reported > 0:
		part = l.highest
	case left > l.tolerance && l.reservedCalls == 0:
		return left, nil
	default:
		part = l.limit // unknown: more than the rest
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
	return 0, &insufficientBudget{canWait: l.reservedCalls > 0 && part <= l.limit-l.spent+l.tolerance, text: text}
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
		waiting = min(waiting, parallelSteps-reserved)
	}
	return max(waiting, 1)
}

// accountUsage reserves the allowance of a call that begins, and charges the usage u of a call that ends.
func accountUsage(p *plan.Plan, s *state.State, l *state.Loop, old state.Loop, loc event.Location, e event.Event, u *event.Usage) {
	if l.Phase != old.Phase && (l.Phase == state.PhaseAttempt || l.Phase == state.PhaseAsking) {
		l.Reserved, _ = reserve(p, *s, loc.Node)
		return
	}
	s.Usage = s.Usage.Plus(u)
	if old.Phase != state.PhaseAttempt && old.Phase != state.PhaseAsking || l.Phase == old.Phase {
		return
	}
	if u == nil && failedBeforeCall(e) {
		u = &event.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)}
	}
	for scope, part := range old.Reserved {
		chargeCall(p, s, loc.Node, scope, part, u, e.Seq)
	}
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

// chargeCall adds the usage of a call to a scope. A call with unknown usage is charged its estimate.
func chargeCall(p *plan.Plan, s *state.State, path, scope string, part state.Amount, u *event.Usage, seq int64) {
	if s.Charges == nil {
		s.Charges = map[string]state.Charge{}
	}
	c := s.Charges[scope]
	c.Attempts++
	reserveUSD, reserveTokens := 0.0, int64(0)
	for _, ceiling := range p.Ceilings(path) {
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
	for _, ceiling := range p.Ceilings(path) {
		if warn := ceiling.Cost.WarnUSD; ceiling.Scope == scope && warn > 0 && c.USD >= warn && c.WarnedAt == 0 {
			c.WarnedAt = seq
		}
	}
	s.Charges[scope] = c
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

// chargeCutOff charges the reservations of a kernel that has died.
func chargeCutOff(p *plan.Plan, s *state.State, path string, l *state.Loop) {
	for _, scope := range slices.Sorted(maps.Keys(l.Reserved)) {
		chargeCall(p, s, path, scope, l.Reserved[scope], nil, s.Seq)
	}
	l.Reserved = nil
}

// renewCeilings adds the ceiling's amount once more in the exhausted scopes of a node. If none is exhausted, because
// an agent stopped short of its allowance, it renews all of them.
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
	if s.Charges == nil {
		s.Charges = map[string]state.Charge{}
	}
	for scope := range short {
		charge := s.Charges[scope]
		charge.Renewals++
		s.Charges[scope] = charge
	}
}

// attemptResult holds the fields shared by the events that end an attempt, a question or an iteration.
type attemptResult struct {
	// Output is the agent's output.
	Output *event.Ref `json:"output"`
	// Usage is the consumption, nil for none. Failed attempts consume too.
	Usage *event.Usage `json:"usage"`
	// Artifact is the iteration's artifact for other nodes.
	Artifact *event.Ref `json:"artifact"`
}

// decodeAttemptResult returns the zero value for events that end nothing.
func decodeAttemptResult(e event.Event) attemptResult {
	switch e.Type {
	case event.IterationComplete, event.Error, event.AttemptComplete, event.StrategyAnswer:
		d, _ := event.Decode[attemptResult](e) // apply has decoded it already
		if e.Key.Kind() == event.KeySettle && e.Type != event.AttemptComplete {
			d.Usage = nil // the settlement repeats the usage of its attempt
		}
		return d
	default:
		return attemptResult{}
	}
}
