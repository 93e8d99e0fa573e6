package pluginhost

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkConfinable refuses isolation for a provider of this process. Strategies and actions of this process are part of
// the program and are not confined.
func checkConfinable(c sdk.Component, use Use) error {
	if c.Kind != sdk.KindProvider || !use.Sandbox.IsRequested() && !requiresSandbox(c) {
		return nil
	}
	return failure.New(failure.SandboxUnavailable, "provider %s is part of this program and cannot be confined", c.Name).
		WithHint("serve it as a plugin, a process of its own, or ask for no sandbox where it is used")
}

// requiresSandbox reports whether a component refuses to run outside isolation.
func requiresSandbox(c sdk.Component) bool { return c.Provider != nil && c.Provider.RequiresSandbox }

// sandboxPolicy returns the isolation of a component's process, nil for none. It is the policy that use requests, at
// least mode workspace if the component requires isolation. Without a request, strategies and actions get the best
// available policy, except those shipped with this program that run the user's commands.
func (cfg *Config) sandboxPolicy(e catalog.Entry, c sdk.Component, use Use) (*sandboxpolicy.Policy, error) {
	requested := *use.Sandbox.Complete()
	if requiresSandbox(c) && !requested.IsRequested() {
		requested.Mode = plan.SandboxWorkspace
	}
	switch {
	case e.Plugin.Running != nil && requested.IsRequested():
		return nil, confineRunningError(e.Plugin)
	case e.Plugin.Running != nil:
		return nil, nil
	case requested.IsRequested() && c.Provider != nil && c.Provider.NestedSandbox:
		return nil, failure.New(failure.SandboxUnavailable, "provider %s brings a sandbox of its own, which cannot run inside sandbox %s", c.Name, requested.Mode).
			WithHint("ask for no sandbox where it is used, or configure it to leave its own one out, if it can")
	case requested.IsRequested():
		requested.Read = slices.Concat(requested.Read, use.Read)
		return cfg.requestedPolicy(e, c, requested), nil
	case requested.Mode == plan.SandboxNone, c.Kind == sdk.KindProvider, comesWithProgram(e) && c.Needs != nil && c.Needs.Commands:
		return nil, nil
	}
	requested.Mode, requested.Read = plan.SandboxWorkspace, use.Read
	b := cfg.requestedPolicy(e, c, requested)
	b.BestEffort = true
	return b, nil
}

// requestedPolicy returns the policy for the requested sandbox s. Components that work in the project may write it;
// other components may read it. The requested network is that of the tools where a component confines them itself.
func (cfg *Config) requestedPolicy(e catalog.Entry, c sdk.Component, s plan.Sandbox) *sandboxpolicy.Policy {
	needs := sdk.Needs{}
	if c.Needs != nil {
		needs = *c.Needs
	}
	works := c.Kind == sdk.KindProvider || needs.Commands
	b := &sandboxpolicy.Policy{
		Mode: sandboxpolicy.Mode(s.Mode), Network: sandboxpolicy.Network(s.Network),
		Read: slices.Clone(s.Read), Write: slices.Clone(s.Write),
		WorkDir: cfg.WorkDir, Home: cfg.variable("HOME"),
		Memory: s.Memory, Processes: s.Processes, CPU: time.Duration(s.CPU * float64(time.Second)),
	}
	if b.Network == "" {
		b.Network = sandboxpolicy.Network(defaultNetwork(e, c))
	}
	if confinesTools(e, c) {
		b.Network, b.Tools = sandboxpolicy.On, b.Network
	}
	if works {
		b.Write, b.Caches = append(b.Write, b.WorkDir), string(c.Kind)
	}
	if comesWithProgram(e) {
		resolver := cfg.pathResolver(b)
		b.Read = append(b.Read, resolver.ResolveNeeds(needs.Read)...)
		b.Write = append(b.Write, resolver.ResolveNeeds(needs.Write)...)
	}
	return b
}

// defaultNetwork returns the network of a confined component without a request for one. It is off for the tools of a
// provider that is confined by default, because the provider keeps its own.
func defaultNetwork(e catalog.Entry, c sdk.Component) plan.Network {
	switch {
	case c.Provider != nil && c.Provider.ConfinedByDefault && confinesTools(e, c):
		return plan.NetworkOff
	case c.Kind == sdk.KindProvider || c.Needs != nil && (c.Needs.Commands || c.Needs.Network):
		return plan.NetworkOn
	}
	return plan.NetworkOff
}

// confinesTools reports whether only the programs that a component starts lose the network.
func confinesTools(e catalog.Entry, c sdk.Component) bool {
	return slices.Contains(c.Capabilities, sdk.CapabilityConfinedTools) && comesWithProgram(e)
}

// pathResolver resolves the paths that a component requests.
func (cfg *Config) pathResolver(b *sandboxpolicy.Policy) sandboxpolicy.Resolver {
	return sandboxpolicy.Resolver{Project: b.WorkDir, Home: b.Home, Variable: cfg.variable}
}

// comesWithProgram reports whether the plugin was shipped with this program and therefore gets the paths it
// requests. For other plugins the user grants paths by name.
func comesWithProgram(e catalog.Entry) bool {
	return e.Plugin.Source == catalog.FromBundle || e.Plugin.Source == catalog.FromExecutable
}

// ungrantedPaths returns the paths that a plugin requests and nothing grants.
func (cfg *Config) ungrantedPaths(e catalog.Entry, c sdk.Component, b *sandboxpolicy.Policy) []string {
	if b == nil || c.Needs == nil || comesWithProgram(e) {
		return nil
	}
	resolver := cfg.pathResolver(b)
	var missing []string
	for _, want := range []struct {
		requested []string
		granted   []string
	}{{c.Needs.Read, slices.Concat(b.Read, b.Write)}, {c.Needs.Write, b.Write}} {
		for _, p := range want.requested {
			for _, path := range resolver.ResolveNeeds([]string{p}) {
				if !slices.ContainsFunc(want.granted, func(g string) bool { return path == g || strings.HasPrefix(path, strings.TrimSuffix(g, "/")+"/") }) {
					missing = append(missing, p)
				}
			}
		}
	}
	return missing
}

// policyKey returns a text that differs between different policies; "" is none.
func policyKey(b *sandboxpolicy.Policy) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%+v", *b)
}

// Use configures a component's process. Different uses get different processes. The zero value means the
// component's defaults.
type Use struct {
	// Env narrows the component's environment.
	Env EnvPolicy
	// Names are variables that the component gets besides its default ones, because its configuration refers
	// to them ([ReferencedEnv]). Env narrows them, too.
	Names []string
	// Sandbox is the requested isolation; its paths are absolute and exist. Mode "" requests nothing; mode
	// none also disables the isolation that applies by default.
	Sandbox plan.Sandbox
	// Read are more absolute paths that the process may read where it is confined.
	Read []string
}

// confineRunningError returns the error for requested isolation of a process that already runs.
func confineRunningError(c catalog.Plugin) error {
	return failure.New(failure.SandboxUnavailable, "plugin %s is already running (%s) and cannot be confined as requested", c.Name, catalog.FromReattach).
		WithHint("ask for no sandbox while you debug it, or unset %s", catalog.FromReattach)
}
