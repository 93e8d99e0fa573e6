package pluginhost

import (
	"context"
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

// CheckSandbox returns an error if a component cannot be confined as use requires, without starting it.
func (h *Host) CheckSandbox(ctx context.Context, kind sdk.Kind, name string, use Use) error {
	e, err := h.catalog.Find(ctx, kind, name)
	if err != nil {
		return nil //nolint:nilerr // the call of the component returns the error
	}
	if e.Target != nil {
		return h.checkConfinable(e.Component, use)
	}
	b, err := h.sandboxPolicy(e, e.Component, use)
	if err != nil || b == nil {
		return err
	}
	_, err = h.sandbox.Check(ctx, *b)
	return err
}

// Probe reports the capabilities of a mode of isolation on this system, with network. It starts a process in
// it.
func (h *Host) Probe(ctx context.Context, mode sandboxpolicy.Mode) (sandboxpolicy.Capabilities, error) {
	return h.sandbox.Check(ctx, sandboxpolicy.Policy{Mode: mode, Network: sandboxpolicy.On})
}

// checkConfinable refuses isolation for a provider of this process. Strategies and actions of this process
// belong to the program and confine themselves.
func (h *Host) checkConfinable(c sdk.Component, use Use) error {
	if c.Kind != sdk.KindProvider || !use.Sandbox.IsRequested() && !requiresSandbox(c) {
		return nil
	}
	return failure.New(failure.SandboxUnavailable, "provider %s is part of this program and cannot be confined", c.Name).
		WithHint("serve it as a plugin, a process of its own, or ask for no sandbox where it is used")
}

// requiresSandbox reports whether a component refuses to run outside isolation.
func requiresSandbox(c sdk.Component) bool { return c.Provider != nil && c.Provider.RequiresSandbox }

// sandboxPolicy returns the isolation of a component's process, nil for none. It is the policy of use, at
// least a workspace if the component requires isolation. Without a policy, strategies and actions get the best
// available one, except those of this program that run the user's commands.
func (h *Host) sandboxPolicy(e catalog.Entry, c sdk.Component, use Use) (*sandboxpolicy.Policy, error) {
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
		return h.requestedPolicy(e, c, requested), nil
	case requested.Mode == plan.SandboxNone, c.Kind == sdk.KindProvider, comesWithProgram(e) && c.Needs != nil && c.Needs.Commands:
		return nil, nil
	}
	requested.Mode = plan.SandboxWorkspace
	b := h.requestedPolicy(e, c, requested)
	b.BestEffort = true
	return b, nil
}

// requestedPolicy returns the policy for an explicit request. Components that work in the project may write
// it, the others may read it.
func (h *Host) requestedPolicy(e catalog.Entry, c sdk.Component, s plan.Sandbox) *sandboxpolicy.Policy {
	needs := sdk.Needs{}
	if c.Needs != nil {
		needs = *c.Needs
	}
	works := c.Kind == sdk.KindProvider || needs.Commands
	b := &sandboxpolicy.Policy{
		Mode: sandboxpolicy.Mode(s.Mode), Network: sandboxpolicy.Network(s.Network),
		Read: slices.Clone(s.Read), Write: slices.Clone(s.Write),
		WorkDir: h.cfg.WorkDir, Home: lookupEnv(h.cfg.Environ, "HOME"),
		Memory: s.Memory, Processes: s.Processes, CPU: time.Duration(s.CPU * float64(time.Second)),
	}
	if b.Network == "" {
		b.Network = sandboxpolicy.Off
		if works || needs.Network {
			b.Network = sandboxpolicy.On
		}
	}
	if works {
		b.Write = append(b.Write, b.WorkDir)
	}
	if comesWithProgram(e) {
		resolver := h.pathResolver(b)
		b.Read = append(b.Read, resolver.ResolveNeeds(needs.Read)...)
		b.Write = append(b.Write, resolver.ResolveNeeds(needs.Write)...)
	}
	return b
}

// pathResolver resolves the paths that a component requests.
func (h *Host) pathResolver(b *sandboxpolicy.Policy) sandboxpolicy.Resolver {
	return sandboxpolicy.Resolver{Project: b.WorkDir, Home: b.Home, Variable: func(name string) string { return lookupEnv(h.cfg.Environ, name) }}
}

// comesWithProgram reports whether the plugin was shipped with this program and therefore gets the paths it
// requests. For other plugins the user grants paths by name.
func comesWithProgram(e catalog.Entry) bool {
	return e.Plugin.Source == catalog.FromBundle || e.Plugin.Source == catalog.FromExecutable
}

// ungrantedPaths returns the paths that a plugin requests and nothing grants.
func (h *Host) ungrantedPaths(e catalog.Entry, c sdk.Component, b *sandboxpolicy.Policy) []string {
	if b == nil || c.Needs == nil || comesWithProgram(e) {
		return nil
	}
	resolver := h.pathResolver(b)
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

// logUngranted logs once the paths that a confined component requested and did not get.
func (h *Host) logUngranted(e catalog.Entry, c sdk.Component, b *sandboxpolicy.Policy) {
	missing := h.ungrantedPaths(e, c, b)
	if len(missing) == 0 {
		return
	}
	h.logOnce("needs "+c.Name, func() {
		h.cfg.Logger.Warn("confined plugin requests paths that are not granted", "component", c.Name, "plugin", e.Plugin.Name,
			"paths", strings.Join(missing, ", "), "remedy", "list the ones to grant under sandbox.read or sandbox.write in your config.yaml")
	})
}

// logLacking logs once the missing capabilities for components that are confined by default.
func (h *Host) logLacking(got sandboxpolicy.Capabilities) {
	if len(got.Missing) == 0 {
		return
	}
	h.logOnce("lacks", func() {
		h.cfg.Logger.Warn("strategies and hook actions are only partly confined", "mode", got.Mode, "lacks", strings.Join(got.Missing, "; "))
	})
}
