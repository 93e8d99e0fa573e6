package environment

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// SandboxSettings determines the isolation of a plan's components.
type SandboxSettings struct {
	project, user settings.Settings
	run           *plan.Sandbox // requested when the run was started
	named         []string      // the variables that the user's own commands name
	trusted       bool          // the user trusts the project
	paths         sandboxpolicy.Resolver
	log           hclog.Logger
}

// SandboxSettings returns the sandbox settings of a plan and of the settings files.
func (e *Environment) SandboxSettings(p *plan.Plan) SandboxSettings {
	s := SandboxSettings{
		project: e.Settings.Project.Settings, user: e.Settings.User.Settings, trusted: e.Settings.trusted,
		paths: sandboxpolicy.Resolver{Project: e.Config.WorkDir, Home: e.Config.Variable("HOME"), Variable: e.Config.Variable},
		log:   e.Log.Named("sandbox"),
	}
	var commands []string
	if !e.Settings.InProject {
		commands = slices.Collect(maps.Values(s.user.Commands))
	}
	if p != nil && p.Pipeline.Overrides != nil {
		s.run = p.Pipeline.Overrides.Sandbox
		commands = slices.AppendSeq(commands, maps.Values(p.Pipeline.Overrides.Commands))
	}
	s.named = pluginhost.ReferencedEnv(strings.Join(commands, "\n"))
	return s
}

// Narrow adds a resume's restriction: the stricter value of each member, and the paths of both restrictions.
func (s SandboxSettings) Narrow(by *plan.Sandbox) SandboxSettings {
	if by == nil {
		return s
	}
	run := s.run.Restrict(by)
	run.Read, run.Write = slices.Concat(run.Read, by.Read), slices.Concat(run.Write, by.Write)
	s.run = run
	return s
}

// Resolve returns the requested sandbox of a component with resolved paths; author is the pipeline's request.
func (s SandboxSettings) Resolve(ctx context.Context, host *pluginhost.Host, kind sdk.Kind, name string, author *plan.Sandbox) (plan.Sandbox, error) {
	d, ignored := s.RequestedSandbox(ctx, host, kind, name, author)
	if len(ignored) > 0 {
		s.log.Warn("ignored sandbox paths of an untrusted project",
			"component", name, "paths", strings.Join(ignored, ", "))
	}
	var err error
	if d.Read, err = s.paths.ResolveGrants("read", d.Read, d.Write); err != nil {
		return d, err
	}
	d.Write, err = s.paths.ResolveGrants("write", d.Write, d.Write)
	return d, err
}

// RequestedSandbox returns the requested sandbox of a component with its paths as written, and the paths that are not
// granted.
func (s SandboxSettings) RequestedSandbox(ctx context.Context, host *pluginhost.Host, kind sdk.Kind, name string, author *plan.Sandbox) (d plan.Sandbox, ignored []string) {
	requested := func(set settings.Settings) *plan.Sandbox { return set.Sandbox }
	if kind == sdk.KindProvider {
		requested = func(set settings.Settings) *plan.Sandbox { return providerSandbox(ctx, host, set, name) }
	}
	d, ignored = restrict(s.run.WithDefaults(requested(s.user)), author.WithDefaults(requested(s.project)), s.trusted)
	if d.Mode == "" && kind == sdk.KindProvider && isConfinedByDefault(ctx, host, name) {
		d.Mode = plan.SandboxWorkspace
	}
	if d.Network == "" && kind == sdk.KindProvider && d.IsRequested() && host.DefaultNetwork(ctx, kind, name) == plan.NetworkOff {
		d.Network = plan.NetworkOff // checks have the same, see Components.confinedAs
	}
	return d, ignored
}

func isConfinedByDefault(ctx context.Context, host *pluginhost.Host, provider string) bool {
	component, err := host.Component(ctx, sdk.KindProvider, provider)
	return err == nil && component.Provider != nil && component.Provider.ConfinedByDefault
}

// providerSandbox returns a settings file's sandbox for a provider.
func providerSandbox(ctx context.Context, host *pluginhost.Host, s settings.Settings, name string) *plan.Sandbox {
	component, err := host.Component(ctx, sdk.KindProvider, name)
	if err != nil {
		return s.Sandbox // the caller reports the missing provider
	}
	for _, p := range s.Providers {
		if other, err := host.Component(ctx, sdk.KindProvider, p.Name); err == nil && other.Name == component.Name {
			return p.Sandbox.WithDefaults(s.Sandbox)
		}
	}
	return s.Sandbox
}

// restrict returns the effective settings of a component: the stricter value of each member, and the allowed paths.
// user is the command line over the user's file. author is the pipeline over the project's file, and can only narrow
// the user's request. A trusted author may grant paths in addition to the user's, turn on the network, and leave components
// unconfined. Without a request for isolation the mode is "", or none if an allowed request says so. ignored are the
// paths that the author may not grant, as written.
func restrict(user, author *plan.Sandbox, trusted bool) (d plan.Sandbox, ignored []string) {
	asked := *author.Complete()
	if asked.Mode == plan.SandboxNone && !trusted {
		asked = plan.Sandbox{}
	}
	if asked.Network == plan.NetworkOn && !trusted { // the default of a component may be off
		asked.Network = ""
	}
	d, user = *asked.Restrict(user), user.Complete()
	if user.IsRequested() && !trusted {
		ignored = slices.Concat(d.Read, d.Write)
		d.Read, d.Write = nil, nil
	}
	d.Read, d.Write = slices.Concat(user.Read, d.Read), slices.Concat(user.Write, d.Write)
	return d, ignored
}
