package schedule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// What attempts and questions of strategies may consume. Before one begins, what it is expected to take is set aside in
// every scope that has a ceiling; when it ends, what it really took is charged instead. So nothing that runs side
// by side can pass a ceiling together, and a crash loses nothing: what was under way counts as what was set aside.

// rounding is how far sums of money may be off.
const rounding = 1e-9

// afford says whether a call at the place can be paid for. Else it waits for others to end, or the commands settle the
// loop as over its budget.
func afford(p *plan.Plan, s state.State, n *plan.Node, at event.Place, l state.Loop) (cmds []Command, affordable bool) {
	if passesSteps(n, at) || l.Check == state.CheckDue {
		return nil, true
	}
	_, short := reserve(p, s, at.Node)
	switch {
	case short == nil:
		return nil, true
	case short.waits:
		return nil, false
	}
	key := at.Key(event.KeyQuestion, l.Round+1)
	if l.Phase == state.PhaseReady {
		at.Iteration = l.Completed + 1
		key = at.Key(event.KeyAttempt, l.Attempt+1)
	}
	d := event.FailureData{
		Code: failure.BudgetExceeded.Code(), ErrorType: string(failure.BudgetExceeded), Node: n.ID, Stage: n.ID, Step: at.Step,
		Iteration: at.Iteration, Message: short.text,
		Remedy: "policy.cost sets the ceiling; a session keeps its plan, and resume allows as much once more",
	}
	return record(event.New(event.Error, at.Cursor(), key, d)), false
}

// shortage is why nothing can be set aside.
type shortage struct {
	waits bool // others hold what is left, and may give it back
	text  string
}

// reserve is what is set aside for a call at a node, by scope; nil where nothing is limited.
func reserve(p *plan.Plan, s state.State, path string) (map[string]state.Amount, *shortage) {
	var reserved map[string]state.Amount
	for _, c := range p.Ceilings(path) {
		part, short := reserveIn(s, c)
		if short != nil {
			return nil, short
		}
		if reserved == nil {
			reserved = map[string]state.Amount{}
		}
		if other, twice := reserved[c.Scope]; twice { // an embedded pipeline and the node that embeds it
			part = narrower(part, other)
		}
		reserved[c.Scope] = part
	}
	return reserved, nil
}

func reserveIn(s state.State, c plan.Ceiling) (part state.Amount, short *shortage) {
	charge, held := s.Charges[c.Scope], heldIn(s, c.Scope)
	if c.Cost.MaxUSD > 0 {
		amount, short := partOf(limits[float64]{
			most: c.Cost.MaxUSD * float64(1+charge.Renewed), spent: charge.USD, held: held.usd, calls: held.calls,
			expected: c.Cost.ReserveUSD, dearest: charge.DearestUSD, known: charge.Attempts - charge.UnknownUSD,
			unknown: charge.UnknownUSD, unit: "USD", tolerance: rounding, setting: "reserve_usd",
		}, c.Scope)
		if short != nil {
			return part, short
		}
		part.USD = &amount
	}
	if c.Cost.MaxTokens > 0 {
		amount, short := partOf(limits[int64]{
			most: c.Cost.MaxTokens * int64(1+charge.Renewed), spent: charge.Tokens, held: held.tokens, calls: held.calls,
			expected: c.Cost.ReserveTokens, dearest: charge.DearestTokens, known: charge.Attempts - charge.UnknownTokens,
			unknown: charge.UnknownTokens, unit: "tokens", setting: "reserve_tokens",
		}, c.Scope)
		if short != nil {
			return part, short
		}
		part.Tokens = &amount
	}
	return part, nil
}

// narrower is the smaller of two parts, member by member.
func narrower(a, b state.Amount) state.Amount {
	return state.Amount{USD: least(a.USD, b.USD), Tokens: least(a.Tokens, b.Tokens)}
}

func least[T int64 | float64](a, b *T) *T {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// limits is one ceiling with what is known of the calls under it.
type limits[T int64 | float64] struct {
	most, spent, held T
	calls             int // that hold something
	expected, dearest T
	known, unknown    int // calls that ended and said, or did not say, what they took
	unit              string
	tolerance         T
	setting           string
}

// partOf is what one call is to set aside: what the author expects, else as much as the dearest so far took, else, where
// nothing is known, all that is left.
func partOf[T int64 | float64](l limits[T], scope string) (T, *shortage) {
	left := l.most - l.spent - l.held
	part := l.expected
	switch {
	case part > 0:
	case l.known > 0:
		part = l.dearest
	case left > l.tolerance && l.calls == 0:
		return left, nil
	default:
		part = l.most // nobody knows: more than what is left
	}
	if part <= left+l.tolerance && left > l.tolerance {
		return part, nil
	}
	of := "the session"
	if scope != "" {
		of = "node " + scope
	}
	text := fmt.Sprintf("%v of %v %s are spent in %s, and the next call does not fit", l.spent, l.most, l.unit, of)
	if l.unknown > 0 {
		text += fmt.Sprintf("; %d calls did not say what they took and count as what was reserved for them (policy.cost.%s)", l.unknown, l.setting)
	}
	return 0, &shortage{waits: l.calls > 0 && part <= l.most-l.spent+l.tolerance, text: text}
}

// holding is what the calls under way have set aside in a scope.
type holding struct {
	usd    float64
	tokens int64
	calls  int
}

func heldIn(s state.State, scope string) holding {
	var h holding
	for _, path := range slices.Sorted(maps.Keys(s.Nodes)) {
		ns := s.Nodes[path]
		if ns.Status != state.NodeRunning {
			continue
		}
		for _, seat := range seats(path, ns) {
			part, holds := seat.loop.Reserved[scope]
			if !holds {
				continue
			}
			h.calls++
			if part.USD != nil {
				h.usd += *part.USD
			}
			if part.Tokens != nil {
				h.tokens += *part.Tokens
			}
		}
	}
	return h
}

// ---- Apply

// spend sets aside what a call that begins may take, and charges what one that ends took.
func spend(p *plan.Plan, s *state.State, l *state.Loop, was state.Loop, at event.Place, e event.Event) {
	if l.Phase != was.Phase && (l.Phase == state.PhaseAttempt || l.Phase == state.PhaseAsking) {
		l.Reserved, _ = reserve(p, *s, at.Node)
		return
	}
	u := usageOf(e)
	addUsage(&s.Usage, u)
	if was.Phase != state.PhaseAttempt && was.Phase != state.PhaseAsking || l.Phase == was.Phase {
		return
	}
	if u == nil && neverBegan(e) {
		u = &event.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)}
	}
	for scope, part := range was.Reserved {
		charge(p, s, at.Node, scope, part, u, e.Seq)
	}
	l.Reserved = nil
}

// neverBegan reports whether an attempt failed before an agent was called.
func neverBegan(e event.Event) bool {
	d, err := event.Decode[event.FailureData](e)
	if err != nil || e.Type != event.Error {
		return false
	}
	switch failure.Kind(d.ErrorType) {
	case failure.ProviderMissing, failure.ConfigInvalid, failure.PluginInvalid, failure.PluginUntrusted, failure.SandboxUnavailable, failure.BudgetExceeded:
		return true
	default:
		return false
	}
}

// charge counts what a call took in a scope. One that did not say took what was set aside for it.
func charge(p *plan.Plan, s *state.State, path, scope string, part state.Amount, u *event.Usage, seq int64) {
	if s.Charges == nil {
		s.Charges = map[string]state.Charge{}
	}
	c := s.Charges[scope]
	c.Attempts++
	switch {
	case u != nil && u.CostUSD != nil:
		c.USD += *u.CostUSD
		c.DearestUSD = max(c.DearestUSD, *u.CostUSD)
	default:
		c.UnknownUSD++
		if part.USD != nil {
			c.USD += *part.USD
		}
	}
	switch tokens, known := tokensOf(u); {
	case known:
		c.Tokens += tokens
		c.DearestTokens = max(c.DearestTokens, tokens)
	default:
		c.UnknownTokens++
		if part.Tokens != nil {
			c.Tokens += *part.Tokens
		}
	}
	for _, ceiling := range p.Ceilings(path) {
		if warn := ceiling.Cost.WarnUSD; ceiling.Scope == scope && warn > 0 && c.USD >= warn && c.WarnedAt == 0 {
			c.WarnedAt = seq
		}
	}
	s.Charges[scope] = c
}

// tokensOf are the tokens that a ceiling counts: input and output, with what was written to a cache and without what
// was read from one.
func tokensOf(u *event.Usage) (tokens int64, known bool) {
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

// chargeCutOff charges what a kernel that is gone had set aside.
func chargeCutOff(p *plan.Plan, s *state.State, path string, l *state.Loop) {
	for _, scope := range slices.Sorted(maps.Keys(l.Reserved)) {
		charge(p, s, path, scope, l.Reserved[scope], nil, s.Seq)
	}
	l.Reserved = nil
}

// spentUp reports whether some ceiling of a node leaves nothing for another call.
func spentUp(p *plan.Plan, s state.State, path string) bool {
	_, short := reserve(p, s, path)
	return short != nil
}

// renewCeilings allows as much once more in the scopes of a node in which nothing more fits.
func renewCeilings(p *plan.Plan, s *state.State, path string) {
	for _, c := range p.Ceilings(path) {
		if _, short := reserveIn(*s, c); short == nil {
			continue
		}
		if s.Charges == nil {
			s.Charges = map[string]state.Charge{}
		}
		charge := s.Charges[c.Scope]
		charge.Renewed++
		s.Charges[c.Scope] = charge
	}
}
