package engine

import (
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

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
