package progress

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// The deliverable of a pipeline is its final artifact; the node that embeds the pipeline receives it.

// applyArtifact stores an artifact of the node that the run is at.
func applyArtifact(p *plan.Plan, s *state.State, e event.Event, d event.ArtifactWrittenData) error {
	_, ns, err := runningNode(p, s, e)
	if err == nil && e.Key.Kind() == event.KeySettle {
		ns, err = awaitingDeliverable(p, s, e)
	}
	if err != nil {
		return err
	}
	ns.SetArtifact(d.Name, d.Ref)
	s.Nodes[s.At] = ns
	return nil
}

// Deliverable returns the artifact, with its node's path, of the last node in list order that succeeded and has one.
// embedder is the path of the node that embeds the plan, "" for the outermost plan. has is false if no node has one.
func Deliverable(p *plan.Plan, s state.State, embedder string) (path string, ref event.Ref, has bool) {
	list, prefix := p.Nodes, ""
	if embedder != "" {
		n := p.Find(embedder)
		if n == nil || n.Plan == nil {
			return "", event.Ref{}, false
		}
		list, prefix = n.Plan.Nodes, embedder+"."
	}
	for i := len(list) - 1; i >= 0; i-- {
		path := prefix + list[i].Path
		ns := s.Nodes[path]
		if !ns.EndedSuccessfully() {
			continue
		}
		if ref, made := ns.Artifacts[event.Artifact]; made {
			return path, ref, true
		}
	}
	return "", event.Ref{}, false
}

// NeedsDeliverable reports whether the pipeline's deliverable must still become the artifact of the node that wraps
// it.
func NeedsDeliverable(n *plan.Node, ns state.Node) bool {
	_, handed := ns.Artifacts[event.Artifact]
	return n.Wraps != nil && !handed
}

// deliver stores the deliverable of a finished plan as the artifact of the node that embeds it. A node that wraps the
// pipeline settles its artifact instead.
func deliver(p *plan.Plan, s *state.State, path string) {
	n, ns := p.Find(path), s.Nodes[path]
	if n == nil || n.Wraps != nil {
		return
	}
	ns.Artifacts = nil // of an earlier run
	if _, ref, has := Deliverable(p, *s, path); has {
		ns.Artifacts = map[string]event.Ref{event.Artifact: ref}
	}
	s.Nodes[path] = ns
}

// awaitingDeliverable returns the state of the node that wraps a pipeline and waits for its artifact under the
// event's key.
func awaitingDeliverable(p *plan.Plan, s *state.State, e event.Event) (state.Node, error) {
	n, ns := p.Find(s.At), s.Nodes[s.At]
	waits := n != nil && n.Kind == plan.KindPipeline && ns.Status == state.NodeRunning && ns.Runs >= p.MaxRuns(n) && ns.InputFailure == nil && NeedsDeliverable(n, ns)
	if !waits || e.Key != ns.DeliverableKey(s.At) {
		return ns, invalidTransition(e, "the run does not wait for the artifact of that node")
	}
	return ns, nil
}

// applyDeliverableError ends the node: the pipeline's deliverable is not a valid artifact of the node.
func applyDeliverableError(p *plan.Plan, s *state.State, e event.Event, d event.FailureData) error {
	ns, err := awaitingDeliverable(p, s, e)
	if err != nil {
		return err
	}
	ns.InputFailure = &d
	s.Nodes[s.At] = ns
	return nil
}
