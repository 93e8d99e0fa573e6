package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// decideBlock advances every provider independently. When all have succeeded, the manifest is written and the
// transition committed. A provider that waits for the user pauses the run once the others have ended or wait too.
func decideBlock(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) []Command {
	var cmds, waits []Command
	ended := 0
	for i := range n.Providers {
		id := n.Providers[i].ID()
		switch b, begun := ns.Branches[id]; {
		case !begun:
			cmds = append(cmds, record(branchStartEvent(n, id))...)
		case b.Status != state.NodeRunning:
			ended++
		default:
			due := decideBranch(p, s, n, ns, id, b)
			if isResting(due) {
				waits = append(waits, due...)
				continue
			}
			cmds = append(cmds, due...)
		}
	}
	switch {
	case ended == len(n.Providers):
		return endBlock(p, s, n, ns)
	case ended+len(waits) == len(n.Providers):
		return decideRest(p, s, waits)
	default:
		return cmds
	}
}

// endBlock completes a block whose providers have all ended.
func endBlock(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) []Command {
	_, written := ns.Artifacts[event.Manifest]
	if written || failedBranches(n, ns) != nil {
		return completeNode(p, s, n, ns)
	}
	loc := ns.IterationLocation(n.Path)
	return []Command{{Kind: WriteManifest, Key: loc.Key(event.KeyManifest, 1), Location: loc}}
}

// failedBranches returns the ids of the providers that failed, in the order of the block.
func failedBranches(n *plan.Node, ns state.Node) []string {
	var failed []string
	for i := range n.Providers {
		if id := n.Providers[i].ID(); ns.Branches[id].Status == state.NodeFailed {
			failed = append(failed, id)
		}
	}
	return failed
}

// decideBranch continues the loop of the provider's current stage, or ends the provider's work.
func decideBranch(p *plan.Plan, s state.State, n *plan.Node, ns state.Node, id string, b state.Branch) []Command {
	loc := ns.BranchLocation(n.Path, id)
	point := plan.PointParallelProviderStart
	if b.Loop.Phase == state.PhaseSettled {
		point = plan.PointParallelProviderEnd
	}
	if cmds, passed := decideProviderHooks(p, s, point, n, loc, b); !passed {
		return cmds
	}
	if b.Loop.Phase == state.PhaseSettled {
		return record(branchCompleteEvent(n, id, b))
	}
	stage := StageAt(p, s, loc)
	if stage == nil {
		return record(planMismatchEvent(s))
	}
	return decideLoop(p, s, stage, loc, b.Loop)
}

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

func blockStartEvent(n *plan.Node) event.Event {
	providers, err := json.Marshal(n.Providers)
	if err != nil { // they were read from JSON
		panic(fmt.Sprintf("block %s: %v", n.ID, err))
	}
	return event.New(event.NodeStart, &event.Cursor{NodePath: n.Path}, "",
		event.BlockStartData{Name: n.ID, Kind: string(n.Kind), Providers: providers, Stages: stageIDs(n)})
}

func stageIDs(n *plan.Node) []string {
	ids := make([]string, len(n.Stages))
	for i := range n.Stages {
		ids[i] = n.Stages[i].ID
	}
	return ids
}

// branchCursor returns the cursor of a provider as a whole.
func branchCursor(n *plan.Node, id string) *event.Cursor {
	return &event.Cursor{NodePath: n.Path, NodeRun: 1, Provider: id}
}

func branchStartEvent(n *plan.Node, id string) event.Event {
	return event.New(event.ParallelProviderStart, branchCursor(n, id), "", event.ProviderStartData{Provider: id, Stages: stageIDs(n)})
}

func branchCompleteEvent(n *plan.Node, id string, b state.Branch) event.Event {
	d, kind := event.ProviderCompleteData{Provider: id, Status: string(state.NodeComplete)}, event.ParallelProviderComplete
	if b.Loop.Outcome != string(plan.OutcomeSuccess) {
		d.Status, d.Failure, kind = string(state.NodeFailed), b.Loop.Failure, event.ParallelProviderFailed
	}
	return event.New(kind, branchCursor(n, id), "", d)
}

// blockOutcome returns the outcome of a block whose providers have all ended. One failed provider fails the block;
// the failure names all of them and gives the first one's reason.
func blockOutcome(n *plan.Node, ns state.Node) nodeOutcome {
	end := nodeOutcome{outcome: plan.OutcomeSuccess, cursor: &event.Cursor{NodePath: n.Path}}
	failed := failedBranches(n, ns)
	if failed == nil {
		return end
	}
	first := ns.Branches[failed[0]].Loop
	end.outcome = plan.OutcomeError
	switch o := plan.Outcome(first.Outcome); o {
	case plan.OutcomeFail, plan.OutcomeReject, plan.OutcomeEscalate, plan.OutcomeBudget:
		end.outcome = o
	}
	if len(n.Transitions) > 0 && end.outcome == plan.OutcomeError {
		end.outcome = plan.OutcomeFail // DIALECT B7
	}
	end.failure = blockFailure(n, failed, first.Failure, first.Reason)
	end.reason = end.failure.Message
	return end
}

func blockFailure(n *plan.Node, failed []string, first *event.FailureData, reason string) *event.FailureData {
	f := event.FailureData{Code: failure.AgentError.Code(), ErrorType: string(failure.AgentError), Message: cmp.Or(reason, "no reason given")}
	if first != nil {
		f = *first
	}
	f.Node, f.Stage, f.Iteration, f.Attempt, f.Collateral, f.Usage = n.ID, n.ID, 0, 0, false, nil
	f.Message = fmt.Sprintf("Parallel block '%s' failed. Failed providers: %s: %s", n.ID, strings.Join(failed, ", "), f.Message)
	return &f
}

// runningBlock returns the block that the run is at, with its state.
func runningBlock(p *plan.Plan, s *state.State, e event.Event) (*plan.Node, state.Node, error) {
	n, ns := p.Find(s.At), s.Nodes[s.At]
	if n == nil || n.Kind != plan.KindParallel || ns.Status != state.NodeRunning || e.Cursor == nil || e.Cursor.NodePath != s.At {
		return nil, ns, invalidTransition(e, "the run is not at that block")
	}
	return n, ns, nil
}

func applyBranchStart(p *plan.Plan, s *state.State, e event.Event) error {
	n, ns, err := runningBlock(p, s, e)
	if err != nil {
		return err
	}
	id := e.Cursor.Provider
	if _, begun := ns.Branches[id]; begun || n.Branch(id) == nil {
		return invalidTransition(e, fmt.Sprintf("the block does not wait for provider %q", id))
	}
	if ns.Branches == nil {
		ns.Branches = map[string]state.Branch{}
	}
	ns.Branches[id] = state.Branch{Status: state.NodeRunning, StartedAt: e.Time, Loop: newStageLoop(n, 0)}
	s.Nodes[s.At] = ns
	return nil
}

func applyBranchComplete(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.ProviderCompleteData](e)
	if err != nil {
		return err
	}
	n, ns, err := runningBlock(p, s, e)
	if err != nil {
		return err
	}
	b, begun := ns.Branches[e.Cursor.Provider]
	if !begun || b.Status != state.NodeRunning || b.Loop.Phase != state.PhaseSettled {
		return invalidTransition(e, fmt.Sprintf("provider %q has not ended", e.Cursor.Provider))
	}
	b.Status = state.NodeStatus(d.Status)
	ns.Branches[e.Cursor.Provider] = b
	if d.Status == string(state.NodeComplete) { // texts left over after the last iteration
		s.NextInjected = append(s.NextInjected, b.Loop.Injected...)
	}
	if allComplete(n, ns) { // every provider has received the user's context
		s.ConsumeContext(minConsumed(ns))
	}
	return nil
}

func allComplete(n *plan.Node, ns state.Node) bool {
	for i := range n.Providers {
		if ns.Branches[n.Providers[i].ID()].Status != state.NodeComplete {
			return false
		}
	}
	return true
}

// minConsumed returns the number of context bytes that every provider of the block has received.
func minConsumed(ns state.Node) int {
	least := math.MaxInt
	for _, b := range ns.Branches {
		least = min(least, b.Loop.ContextConsumed)
	}
	return least
}

// newStageLoop returns the initial loop of a block's stage. A plan without the stage is detected when it runs.
func newStageLoop(n *plan.Node, i int) state.Loop {
	if i < len(n.Stages) {
		return newLoop(&n.Stages[i])
	}
	return state.Loop{Phase: state.PhaseReady}
}

// nextBranchStage moves a provider that has finished a stage to the next one of the block.
func nextBranchStage(n *plan.Node, ns *state.Node, id string) {
	b := ns.Branches[id]
	if b.Loop.Phase != state.PhaseSettled || b.Loop.Outcome != string(plan.OutcomeSuccess) {
		return
	}
	b.Done = append(b.Done, state.BranchStage{Iterations: b.Loop.Completed, Reason: b.Loop.Reason})
	if b.Stage+1 < len(n.Stages) {
		injected, consumed := b.Loop.Injected, b.Loop.ContextConsumed
		b.Stage, b.Loop = b.Stage+1, newStageLoop(n, b.Stage+1)
		b.Loop.Injected, b.Loop.ContextConsumed = injected, consumed
	}
	ns.Branches[id] = b
}

func applyArtifact(s *state.State, e event.Event) error {
	d, err := event.Decode[event.ArtifactWrittenData](e)
	if err != nil {
		return err
	}
	ns, entered := s.Nodes[s.At]
	if !entered || ns.Status != state.NodeRunning || e.Cursor == nil || e.Cursor.NodePath != s.At {
		return invalidTransition(e, "the run is not at that node")
	}
	ns.SetArtifact(d.Name, d.Ref)
	s.Nodes[s.At] = ns
	return nil
}
