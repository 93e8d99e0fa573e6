package session

import (
	"cmp"
	"context"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func (s *session) components() environment.Components {
	return environment.Components{
		Host: s.host, ProviderOverride: s.engine.env.Config.ProviderOverride, SkipHooks: s.engine.env.Config.SkipHooks, Configs: s.configs, Plan: s.plan, Sandboxes: s.sandboxSettings(),
	}
}

// resolveBlockProviders maps the provider names in the plan's parallel blocks to components, nil if there are
// no blocks. A resumed run keeps its original mapping. For an unknown name the error lists the known ones.
func (s *session) resolveBlockProviders(ctx context.Context) (map[string]event.Provider, error) {
	if s.providers != nil {
		return s.providers, nil
	}
	var resolved map[string]event.Provider
	for n := range s.plan.All() {
		for _, b := range n.Providers {
			if _, seen := resolved[b.Name]; seen {
				continue
			}
			component, err := s.host.Component(ctx, sdk.KindProvider, b.Name)
			if err != nil {
				return nil, err
			}
			p := event.Provider{Type: component.Name, Model: s.configs[component.Name].Model}
			if component.Provider != nil {
				p.Model = cmp.Or(p.Model, component.Provider.DefaultModel)
			}
			if resolved == nil {
				resolved = map[string]event.Provider{}
			}
			resolved[b.Name] = p
		}
	}
	s.providers = resolved
	return resolved, nil
}

func (s *session) sandboxSettings() environment.SandboxSettings {
	return s.engine.env.SandboxSettings(s.plan).Narrow(s.sandbox)
}

// sandboxData returns the journal's description of a process's isolation, nil for none.
func sandboxData(n pluginhost.Notice) *event.SandboxData {
	if n.Sandbox == nil || n.Requested == nil {
		return nil
	}
	got := n.Sandbox
	return &event.SandboxData{
		Requested: string(n.Requested.Mode), AskedNetwork: string(n.Requested.Network), Unasked: n.Requested.BestEffort,
		Mode: string(got.Mode), Network: string(got.Network), Landlock: got.Landlock, Seccomp: got.Seccomp, Bubblewrap: got.Bubblewrap,
		Read: n.Requested.Read, Write: n.Requested.Write, Memory: got.Memory, Processes: got.Processes, CPU: got.CPUSeconds, Lacks: got.Missing,
	}
}
