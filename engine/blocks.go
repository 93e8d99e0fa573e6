package engine

import (
	"context"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// blockProviders says what the provider names in the plan's parallel blocks stand for: of a run that goes
// on what they stood for when it began. It is nil if there are no blocks. A name that no component has is
// an error that says what exists.
func (s *session) blockProviders(ctx context.Context) (map[string]event.Provider, error) {
	if s.providers != nil {
		return s.providers, nil
	}
	var known map[string]event.Provider
	for n := range s.plan.All() {
		for _, b := range n.Providers {
			if _, seen := known[b.Name]; seen {
				continue
			}
			component, err := s.host.Component(ctx, sdk.KindProvider, b.Name)
			if err != nil {
				return nil, err
			}
			p := event.Provider{Type: component.Name, Model: s.configs[component.Name].Model}
			if component.Provider != nil {
				p.Model = orElse(p.Model, component.Provider.DefaultModel)
			}
			if known == nil {
				known = map[string]event.Provider{}
			}
			known[b.Name] = p
		}
	}
	s.providers = known
	return known, nil
}

// stagesOf are the stages of a plan as they run: those of parallel blocks once for each provider.
func stagesOf(p *plan.Plan, known map[string]event.Provider) []*plan.Node {
	var stages []*plan.Node
	for n := range p.All() {
		if n.Kind == plan.KindStage {
			stages = append(stages, n)
		}
		for _, b := range n.Providers {
			for j := range n.Stages {
				stage := n.Stages[j].InBranch(b, plan.Provider{Type: known[b.Name].Type, Model: known[b.Name].Model})
				stages = append(stages, &stage)
			}
		}
	}
	return stages
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
