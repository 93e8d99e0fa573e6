package progress

import (
	"cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// StageAt returns the stage that runs at a location, nil if the plan has none. In a parallel block it has the
// provider's settings.
func StageAt(p *plan.Plan, s state.State, loc event.Location) *plan.Node {
	n := p.Find(loc.Node)
	if n == nil || loc.Branch == "" {
		return n
	}
	block := p.Find(loc.Outer())
	if block == nil {
		return nil
	}
	b := block.Branch(loc.Branch)
	if b == nil {
		return nil
	}
	resolved := s.Providers[b.Name]
	stage := n.InBranch(*b, plan.Provider{Type: resolved.Type, Model: resolved.Model})
	return &stage
}

// NodeName returns the node's name in events: its id, or in mode loop the pipeline's name if it has one.
func NodeName(p *plan.Plan, s state.State, n *plan.Node) string {
	if s.Mode == "loop" && p.Pipeline.Name != "" {
		return p.Pipeline.Name
	}
	return n.ID
}

// MaxAttempts returns the number of attempts that an iteration has in all: for a step one more than its retries.
func MaxAttempts(p *plan.Plan, s state.State, n *plan.Node, loc event.Location) int {
	var r plan.Retry
	if retry := p.EffectivePolicy(n).Retry; retry != nil {
		r = *retry
	}
	if loc.Step == "" || n.Steps == nil {
		return cmp.Or(r.Attempts, plan.DefaultAttempts)
	}
	ns := s.Nodes[loc.Outer()]
	retries := cmp.Or(r.Step, defaultStepRetries)
	if by, isSet := n.Steps.RetryBy[ns.Steps[loc.Step].Action]; isSet {
		retries = by
	}
	if ns.StageAttempt > 0 && r.OnStageRetry == "single" {
		retries = 0
	}
	return 1 + retries
}

// PassesSteps reports whether an iteration at the location is a pass over the node's steps, which no agent runs
// itself.
func PassesSteps(n *plan.Node, loc event.Location) bool { return n.Steps != nil && loc.Step == "" }

// defaultStepRetries is the number of retries of a step without a setting.
const defaultStepRetries = 3

// newLoop returns the initial loop of a stage: before the first iteration, or, under check_before, before the decision
// whether to start it.
func newLoop(n *plan.Node) state.Loop {
	l := state.Loop{Progress: state.Progress{Phase: state.PhaseReady}}
	if n.Termination.CheckBefore() {
		l.Check = state.CheckDue
	}
	if len(n.ChecksAt(plan.AtEnter)) > 0 {
		l.Phase = state.PhaseEnter
	}
	return l
}
