package inspect

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// ProviderStatus is the state of a provider of a parallel block.
type ProviderStatus struct {
	Provider  string `json:"provider"` // name in the pipeline, or its alias (as)
	Status    string `json:"status"`   // pending, running, complete, failed
	Stage     string `json:"stage,omitempty"`
	Iteration int    `json:"iteration"` // of Stage
	Max       int    `json:"max_iterations"`
	Attempt   int    `json:"attempt,omitempty"`
	// Failure is the error of the provider or of its last attempt, else nil.
	Failure *event.FailureData `json:"error,omitempty"`
}

// StageResult is the state of one node: its last visit in the last run of the pipeline.
type StageResult struct {
	ID   string    `json:"id"`
	Path string    `json:"path"` // path in the plan: "0", in an embedded pipeline "2.0"
	Kind plan.Kind `json:"kind"` // stage, parallel or pipeline
	// Status is pending, running, complete, failed or skipped.
	Status string `json:"status"`
	// Outcome selected the node's edge (success, fail, ...), "" before the node has ended. Reason says why the node
	// ended or is skipped.
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Iterations counts the completed iterations; in a parallel block, those of all providers. It is 0 for an
	// embedded pipeline, whose stages have their own entries.
	Iterations int `json:"iterations"`
	// Duration is the time from start to end, including pauses; 0 before the end.
	Duration time.Duration `json:"duration_ns"`
	// Output is the absolute path of the agent's last output, "" for none.
	Output string `json:"output,omitempty"`
	// Providers holds the states of a parallel block's providers, in its order.
	Providers []ProviderStatus `json:"providers,omitempty"`
}

// StageResults returns the results of all nodes in plan order, those of an embedded pipeline after its node.
// dir is the session's directory.
func StageResults(p *plan.Plan, st state.State, dir string) []StageResult {
	results := []StageResult{}
	for n := range p.All() {
		r := StageResult{ID: n.ID, Path: n.Path, Kind: n.Kind, Status: "pending", Providers: providerStatuses(n, st)}
		if ns, entered := st.Nodes[n.Path]; entered {
			r.Status, r.Outcome, r.Reason, r.Iterations = string(ns.Status), ns.Outcome, ns.Reason, completedIterations(ns)
			if ns.EndedAt != nil {
				r.Duration = ns.EndedAt.Sub(ns.StartedAt)
			}
			if ns.Output != nil {
				r.Output = filepath.Join(dir, ns.Output.Path)
			}
		} else if why := schedule.UnreachableReason(p, st, n.Path); why != "" {
			r.Status, r.Reason = string(state.NodeSkipped), why
		}
		results = append(results, r)
	}
	return results
}

func completedIterations(n state.Node) int {
	total := n.Loop.Completed
	for _, b := range n.Branches {
		for _, done := range b.Done {
			total += done.Iterations
		}
		if len(b.Done) <= b.Stage { // its current stage is not in Done
			total += b.Loop.Completed
		}
	}
	return total
}

// ResumeCommand returns the program's command that resumes a session in the state st.
func ResumeCommand(program, session string, p *plan.Plan, st state.State) string {
	command := failure.Next("resume", session).String()
	if used := schedule.RunGuardrailFailure(p, st); used != nil {
		command = used.ResumeCommand
	}
	return failure.Render(command, program)
}

// CompletedNodes returns the ids of the completed top-level nodes, in the order of the plan; never nil.
func CompletedNodes(p *plan.Plan, st state.State) []string {
	ids := []string{}
	for i := range p.Nodes {
		if st.Nodes[p.Nodes[i].Path].Status == state.NodeComplete {
			ids = append(ids, p.Nodes[i].ID)
		}
	}
	return ids
}

// StepStatus is the state of one step of the session's current node.
type StepStatus struct {
	ID     string           `json:"id"`
	Title  string           `json:"title,omitempty"`
	N      int              `json:"n"` // its position, from 1
	Status state.StepStatus `json:"status"`
	Reason string           `json:"reason,omitempty"` // why it failed, is blocked or was skipped
}

// CycleStatus is the state of a counted edge.
type CycleStatus struct {
	Edge    string   `json:"edge"`  // "verify:fail->execute"
	Count   int      `json:"count"` // returns so far
	Limit   int      `json:"limit"`
	Reasons []string `json:"reasons,omitempty"` // of the last returns, oldest first
}

// BudgetStatus is the consumption of a budget. An attempt that reported no consumption counts with its reservation.
type BudgetStatus struct {
	// Scope is the id of the budget's node, "" for the whole session. Path is the node's path.
	Scope string `json:"scope,omitempty"`
	Path  string `json:"path,omitempty"`
	// Used is the charge and Ceiling its limit. A zero member of Ceiling means no limit.
	Used    state.Charge `json:"used"`
	Ceiling plan.Cost    `json:"ceiling"`
}

// stepStatuses returns the steps of the current node in their order. After the end of a run, these are the
// steps of the last node that has any.
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

func cycleStatuses(st state.State) []CycleStatus {
	var all []CycleStatus
	for _, edge := range slices.Sorted(maps.Keys(st.Cycles)) {
		c := st.Cycles[edge]
		all = append(all, CycleStatus{Edge: edge, Count: c.Count, Limit: c.Limit, Reasons: c.Reasons})
	}
	return all
}

// budgetStatuses returns all budgets of a plan, the session's first.
func budgetStatuses(p *plan.Plan, st state.State) []BudgetStatus {
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

// providerStatuses returns the states of a parallel block's providers, nil if n is not a block.
func providerStatuses(n *plan.Node, st state.State) []ProviderStatus {
	if n == nil || n.Kind != plan.KindParallel {
		return nil
	}
	ns := st.Nodes[n.Path]
	all := make([]ProviderStatus, len(n.Providers))
	for i := range n.Providers {
		id := n.Providers[i].ID()
		b, begun := ns.Branches[id]
		all[i] = ProviderStatus{Provider: id, Status: "pending"}
		if !begun {
			continue
		}
		stage := &n.Stages[b.Stage]
		all[i] = ProviderStatus{
			Provider: id, Status: string(b.Status), Stage: stage.ID, Iteration: b.Loop.Iteration, Max: stage.Termination.Max(),
			Attempt: b.Loop.Attempt, Failure: b.Loop.Failure,
		}
	}
	return all
}
