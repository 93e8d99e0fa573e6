package engine

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// ProviderStatus is how a provider of a parallel block stands.
type ProviderStatus struct {
	Provider  string `json:"provider"` // as written in the pipeline, or its as
	Status    string `json:"status"`   // pending, running, complete, failed
	Stage     string `json:"stage,omitempty"`
	Iteration int    `json:"iteration"` // of that stage
	Max       int    `json:"max_iterations"`
	Attempt   int    `json:"attempt,omitempty"`
	// Failure is why it failed, or why its last attempt did; nil otherwise.
	Failure *event.FailureData `json:"error,omitempty"`
}

// StageResult is how one node of the plan ended or stands: of its last visit, in the last run of the pipeline.
type StageResult struct {
	ID   string    `json:"id"`
	Path string    `json:"path"` // its place in the plan: "0", in a nested pipeline "2.0"
	Kind plan.Kind `json:"kind"` // stage, parallel or pipeline
	// Status is pending, running, complete, failed or skipped.
	Status string `json:"status"`
	// Outcome is what its edge was chosen by (success, fail, ...), Reason why it ended; "" before it has.
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Iterations are those completed, in a block by all its providers together; 0 for a nested pipeline, whose
	// stages follow it.
	Iterations int `json:"iterations"`
	// Duration is the time from its start to its end, pauses included; 0 before it has ended.
	Duration time.Duration `json:"duration_ns"`
	// Output is the absolute path of what the agent reported last, "" if there is nothing.
	Output string `json:"output,omitempty"`
	// Providers are those of a parallel block, in its order.
	Providers []ProviderStatus `json:"providers,omitempty"`
}

// stageResults are the results of all nodes, in the order of the plan, those of a nested pipeline after it. dir
// is the session's directory.
func stageResults(p *plan.Plan, st state.State, dir string) []StageResult {
	results := []StageResult{}
	for n := range p.All() {
		r := StageResult{ID: n.ID, Path: n.Path, Kind: n.Kind, Status: "pending", Providers: providersOf(n, st)}
		if ns, entered := st.Nodes[n.Path]; entered {
			r.Status, r.Outcome, r.Reason, r.Iterations = string(ns.Status), ns.Outcome, ns.Reason, iterationsOf(ns)
			if ns.EndedAt != nil {
				r.Duration = ns.EndedAt.Sub(ns.StartedAt)
			}
			if ns.Output != nil {
				r.Output = filepath.Join(dir, ns.Output.Path)
			}
		} else if why := schedule.PassedOver(p, st, n.Path); why != "" {
			r.Status, r.Reason = string(state.NodeSkipped), why
		}
		results = append(results, r)
	}
	return results
}

// deliverable is what the run has delivered, nil where it is not completed or there is nothing. dir is the session's
// directory.
func deliverable(p *plan.Plan, st state.State, dir string) *Deliverable {
	if st.Status != state.Completed {
		return nil
	}
	path, ref, has := schedule.Deliverable(p, st, "")
	n := p.Find(path)
	if !has || n == nil {
		return nil
	}
	d := &Deliverable{Stage: n.ID, Path: path, Artifact: filepath.Join(dir, ref.Path)}
	if n.Artifact != nil {
		d.Type = n.Artifact.Type
	}
	return d
}

func iterationsOf(n state.Node) int {
	total := n.Loop.Completed
	for _, b := range n.Branches {
		for _, done := range b.Done {
			total += done.Iterations
		}
		if len(b.Done) <= b.Stage { // its last stage is not among those that ended well
			total += b.Loop.Completed
		}
	}
	return total
}

// resumeCommand goes on with a session that stands as st says.
func resumeCommand(session string, p *plan.Plan, st state.State) string {
	if used := schedule.UsedUp(p, st); used != nil {
		return used.ResumeCommand
	}
	return "agent-pipelines resume " + session
}

func completed(p *plan.Plan, st state.State) []string {
	ids := []string{}
	for i := range p.Nodes {
		if st.Nodes[p.Nodes[i].Path].Status == state.NodeComplete {
			ids = append(ids, p.Nodes[i].ID)
		}
	}
	return ids
}

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

// providersOf are the providers of the block that a run is at, nil if it is at none.
func providersOf(n *plan.Node, st state.State) []ProviderStatus {
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
