package engine

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// StepStatus is how one step of the node that a session is at stands.
type StepStatus struct {
	ID     string           `json:"id"`
	Title  string           `json:"title,omitempty"`
	N      int              `json:"n"` // its position, from 1
	Status state.StepStatus `json:"status"`
	Reason string           `json:"reason,omitempty"` // why it failed, is blocked or was skipped
}

// CycleStatus is how often a counted edge was taken.
type CycleStatus struct {
	Edge    string   `json:"edge"`  // "verify:fail->execute"
	Count   int      `json:"count"` // returns so far
	Limit   int      `json:"limit"`
	Reasons []string `json:"reasons,omitempty"` // of the last returns, oldest first
}

// BudgetStatus is what of a ceiling is used up. Attempts that did not say what they took count as what was reserved
// for them, and are counted.
type BudgetStatus struct {
	// Scope is the id of the node that the ceiling is for, "" for the whole session. Path is the node's.
	Scope string `json:"scope,omitempty"`
	Path  string `json:"path,omitempty"`
	// Used and Ceiling are the charge and what bounds it; a member of the ceiling that is 0 bounds nothing.
	Used    state.Charge `json:"used"`
	Ceiling plan.Cost    `json:"ceiling"`
}

// stepStatuses are those of the node that the run is at, in their order; of a run that is over, of the last node that has any.
func stepStatuses(p *plan.Plan, st state.State) (path string, all []StepStatus) {
	at := p.Find(st.At)
	if at == nil || at.Steps == nil {
		at = nil
		for n := range p.All() {
			if n.Steps != nil && len(st.Nodes[n.Path].Order) > 0 {
				at = n
			}
		}
	}
	if at == nil {
		return "", nil
	}
	n := st.Nodes[at.Path]
	for i, id := range n.Order {
		s := n.Steps[id]
		all = append(all, StepStatus{ID: id, Title: s.Title, N: i + 1, Status: s.Status, Reason: s.Reason})
	}
	return at.ID, all
}

func cyclesOf(st state.State) []CycleStatus {
	var all []CycleStatus
	for _, edge := range slices.Sorted(maps.Keys(st.Cycles)) {
		c := st.Cycles[edge]
		all = append(all, CycleStatus{Edge: edge, Count: c.Count, Limit: c.Limit, Reasons: c.Reasons})
	}
	return all
}

// budgets are all ceilings of a plan, the session's first.
func budgets(p *plan.Plan, st state.State) []BudgetStatus {
	var all []BudgetStatus
	seen := map[string]bool{}
	add := func(path string) {
		for _, c := range p.Ceilings(path) {
			if seen[c.Scope] {
				continue
			}
			seen[c.Scope] = true
			b := BudgetStatus{Path: c.Scope, Used: st.Charges[c.Scope], Ceiling: c.Cost}
			if n := p.Find(c.Scope); n != nil {
				b.Scope = n.ID
			}
			all = append(all, b)
		}
	}
	for n := range p.All() {
		add(n.Path)
	}
	return all
}

// budgetWarnings are the marks of policy.cost.warn_usd that the event has passed; st is the state after it.
func budgetWarnings(p *plan.Plan, e event.Event, st state.State) []event.BudgetWarningData {
	var all []event.BudgetWarningData
	for _, scope := range slices.Sorted(maps.Keys(st.Charges)) {
		charge := st.Charges[scope]
		if charge.WarnedAt == 0 || charge.WarnedAt != e.Seq {
			continue
		}
		for _, c := range p.Ceilings(scope) {
			if c.Scope == scope {
				all = append(all, event.BudgetWarningData{Scope: scope, SpentUSD: charge.USD, WarnUSD: c.Cost.WarnUSD, MaxUSD: c.Cost.MaxUSD})
			}
		}
	}
	return all
}
