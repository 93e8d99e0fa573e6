package environment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Components finds the components of a session, configured and confined for a node as the plan and both
// settings files require.
type Components struct {
	Host             *pluginhost.Host
	ProviderOverride string
	SkipHooks        []string
	Configs          ProviderConfigs
	Plan             *plan.Plan
	Sandboxes        SandboxSettings
}

// Components returns the components of a plan; narrow is a resume's restriction of the sandbox, nil for none.
func (e *Environment) Components(host *pluginhost.Host, p *plan.Plan, configs ProviderConfigs, narrow *plan.Sandbox) Components {
	return Components{
		Host: host, ProviderOverride: e.Config.ProviderOverride, SkipHooks: e.Config.SkipHooks, Configs: configs, Plan: p, Sandboxes: e.SandboxSettings(p).Narrow(narrow),
	}
}

// Provider implements effect.Providers.
func (c Components) Provider(ctx context.Context, name string, node *plan.Node, write ...string) (sdk.Provider, error) {
	name = c.providerName(name)
	use, err := c.use(ctx, sdk.KindProvider, name, node)
	if err != nil {
		return nil, err
	}
	use.Names = c.Configs.Names(ctx, c.Host, name)
	if node.WrapsCommand() {
		names, err := c.named(node.Wraps.Run)
		if err != nil {
			return nil, err
		}
		use.Names = append(use.Names, names...)
	}
	confined := allowWrites(&use, write)
	provider, err := c.Host.Provider(ctx, name, use)
	if err != nil {
		return nil, err
	}
	if confined && len(write) > 0 {
		provider = confinedProvider{provider, c.Sandboxes.paths.Project}
	}
	return c.Configs.Configure(provider, use.Sandbox.MaxViolations), c.checkMode(provider.Describe(), node)
}

// allowWrites lets a process in a sandbox write these paths, which its guard would close, and reports whether it has a
// sandbox. An empty path is none.
func allowWrites(use *pluginhost.Use, write []string) (confined bool) {
	if confined = use.Sandbox.IsRequested(); confined {
		paths := slices.Concat(use.Sandbox.Write, write)
		use.Sandbox.Write = slices.DeleteFunc(paths, func(path string) bool { return path == "" })
	}
	return confined
}

// confinedProvider is a provider in a sandbox. It checks after each call that git still uses the project's repository.
type confinedProvider struct {
	sdk.Provider
	project string
}

// Execute implements [sdk.Provider].
func (p confinedProvider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	result, err := p.Provider.Execute(ctx, req, x)
	if fault := sandbox.CheckRepository(context.WithoutCancel(ctx), p.project); fault != nil {
		err = failure.New(failure.Tampered, "an agent changed the repository of the project: %w", fault).
			WithHint("remove .git/commondir, or restore .git, before you run git in the project; then resume")
	}
	return result, err
}

// checkMode rejects a provider with a remote model if the mode allows only local models. A provider whose locality
// depends on its configuration must check the mode itself.
func (c Components) checkMode(component sdk.Component, node *plan.Node) error {
	mode := c.Plan.EffectivePolicy(node).Mode
	if !plan.LocalMode(mode) || component.Provider == nil || component.Provider.WithDefaults().Locality != sdk.LocalityRemote {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "provider %s asks a remote model, which mode %s does not allow", component.Name, mode).
		WithHint("use a provider with a local model, such as agent, or another mode: policy.mode of the pipeline, mode of the settings, or %s", failure.Option("mode"))
}

// Termination implements termination.Strategies. A strategy gets its default environment and the variables that its
// configuration names, because policy.env is for agents.
func (c Components) Termination(ctx context.Context, name string, node *plan.Node) (sdk.Termination, error) {
	use, err := c.use(ctx, sdk.KindTermination, name, node)
	if err != nil {
		return nil, err
	}
	use.Env = pluginhost.EnvPolicy{}
	if use.Names, err = c.named(map[string]any(node.Termination)); err != nil {
		return nil, err
	}
	return c.Host.Termination(ctx, name, use)
}

// HookAction implements hook.Actions. The action gets the environment variables that the hook's configuration
// names.
func (c Components) HookAction(ctx context.Context, h *plan.Hook, node *plan.Node, write ...string) (sdk.HookAction, error) {
	if h.Action != plan.ActionCheck && (slices.Contains(c.SkipHooks, h.Action) || slices.Contains(c.SkipHooks, AllHooks)) {
		return skippedAction{name: h.Action}, nil
	}
	use, err := c.use(ctx, sdk.KindHookAction, h.Action, node)
	if err != nil {
		return nil, err
	}
	if use.Names, err = c.named(h.Config); err != nil {
		return nil, err
	}
	allowWrites(&use, write)
	return c.Host.HookAction(ctx, h.Action, use)
}

// named returns the variables that a configuration of the pipeline names. In a project that the user does not trust a
// secret among them is an error, unless a command of the user names it.
func (c Components) named(config any) ([]string, error) {
	names := pluginhost.ReferencedEnv(config)
	if c.Sandboxes.trusted {
		return names, nil
	}
	for _, name := range names {
		if value := c.Sandboxes.paths.Variable(name); value == "" || !redact.IsSecretVariable(name, value) || slices.Contains(c.Sandboxes.named, name) {
			continue
		}
		return nil, failure.New(failure.ConfigInvalid, "${%s} is a secret variable, and you do not trust this project: its pipelines get no secrets", name).
			WithHint("read what uses it; `%s` lets the project's pipelines have the secrets that they name", failure.Next("trust", c.Sandboxes.paths.Project))
	}
	return names, nil
}

// NotifyAction finds the action of a notify entry. The action gets the environment variables that the entry names;
// the pipeline's policies do not apply.
func (c Components) NotifyAction(ctx context.Context, n settings.Notification) (sdk.HookAction, error) {
	use := pluginhost.Use{Names: pluginhost.ReferencedEnv(n.Config)}
	var err error
	if use.Sandbox, err = c.Sandboxes.Resolve(ctx, c.Host, sdk.KindHookAction, n.Action, nil); err != nil {
		return nil, err
	}
	return c.Host.HookAction(ctx, n.Action, use)
}

// skippedAction replaces an action disabled by [engine.WithoutHooks] and always continues.
type skippedAction struct{ name string }

// Describe implements [sdk.HookAction].
func (a skippedAction) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindHookAction, Name: a.name}
}

// Run implements [sdk.HookAction].
func (a skippedAction) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	return sdk.HookAnswer{Action: sdk.ActionContinue, Reason: "skipped: the action is disabled"}, nil
}

// use returns the environment and sandbox of a component's process for a node; a nil node means the session. It fails
// if the requested isolation is unavailable.
func (c Components) use(ctx context.Context, kind sdk.Kind, name string, node *plan.Node) (pluginhost.Use, error) {
	policy := c.Plan.EffectivePolicy(node)
	env, err := parseEnvPolicy(policy.Env)
	if err != nil {
		return pluginhost.Use{}, err
	}
	env.Adds = c.Sandboxes.trusted
	use := pluginhost.Use{Env: env}
	if len(c.Plan.Library) > 0 {
		stages, err := effect.StagesDir()
		if err != nil {
			return use, err
		}
		use.Read = []string{stages}
	}
	as, owner := c.confinedAs(ctx, kind, name, node)
	if use.Sandbox, err = c.Sandboxes.Resolve(ctx, c.Host, as, owner, policy.Sandbox); err != nil {
		return use, err
	}
	err = c.Host.CheckSandbox(ctx, kind, name, use)
	if f, ok := errors.AsType[*failure.Error](err); ok && f.Kind == failure.SandboxUnavailable && as == sdk.KindProvider && isConfinedByDefault(ctx, c.Host, owner) {
		return use, failure.New(f.Kind, "provider %s runs what a model asks for, and is confined unless you say otherwise: %s", owner, f.Message).
			WithHint("%s. Without protection: %s none, or `sandbox: none` in your config.yaml", f.Hint, failure.Option("sandbox"))
	}
	return use, err
}

// confinedAs returns the component whose sandbox settings apply to a component. A check runs what an agent wrote, and is
// confined as the provider of its node. A check of the session is confined as the first confined provider.
func (c Components) confinedAs(ctx context.Context, kind sdk.Kind, name string, node *plan.Node) (sdk.Kind, string) {
	if kind != sdk.KindHookAction || name != plan.ActionCheck {
		return kind, name
	}
	if node != nil && node.Provider != nil {
		return sdk.KindProvider, c.providerName(node.Provider.Type)
	}
	for n := range c.Plan.All() {
		if n.Provider == nil {
			continue
		}
		provider := c.providerName(n.Provider.Type)
		if d, _ := c.Sandboxes.RequestedSandbox(ctx, c.Host, sdk.KindProvider, provider, c.Plan.EffectivePolicy(n).Sandbox); d.IsRequested() {
			return sdk.KindProvider, provider
		}
	}
	return kind, name
}

// providerName returns the provider that runs instead of the named one, if there is an override. The provider named
// command calls no model and stays.
func (c Components) providerName(name string) string {
	if name == plan.ProviderCommand {
		return name
	}
	return cmp.Or(c.ProviderOverride, name)
}

// parseEnvPolicy decodes policy.env: one word or a list of names.
func parseEnvPolicy(env json.RawMessage) (pluginhost.EnvPolicy, error) {
	if len(env) == 0 {
		return pluginhost.EnvPolicy{}, nil
	}
	var words []string
	if json.Unmarshal(env, &words) != nil {
		var word string
		if err := json.Unmarshal(env, &word); err != nil {
			return pluginhost.EnvPolicy{}, fmt.Errorf("read policy.env: %w", err)
		}
		words = []string{word}
	}
	return pluginhost.ParseEnv(words)
}

// BlockProviders maps the provider names in the plan's parallel blocks to components, nil if there are no blocks. For an
// unknown name the error lists the known ones.
func (c Components) BlockProviders(ctx context.Context) (map[string]event.Provider, error) {
	var all map[string]event.Provider
	for n := range c.Plan.All() {
		for _, b := range n.Providers {
			component, err := c.Host.Component(ctx, sdk.KindProvider, b.Name)
			if err != nil {
				return nil, err
			}
			p := event.Provider{Type: component.Name, Model: c.Configs[component.Name].Model}
			if component.Provider != nil {
				p.Model = cmp.Or(p.Model, component.Provider.DefaultModel)
			}
			if all == nil {
				all = map[string]event.Provider{}
			}
			all[b.Name] = p
		}
	}
	return all, nil
}

// ExpandStages returns the stages of a plan as they run: those of parallel blocks once per provider.
func ExpandStages(p *plan.Plan, providers map[string]event.Provider) []*plan.Node {
	var stages []*plan.Node
	for n := range p.All() {
		if n.Kind == plan.KindStage {
			stages = append(stages, n)
		}
		for _, b := range n.Providers {
			for j := range n.Stages {
				stage := n.Stages[j].InBranch(b, plan.Provider{Type: providers[b.Name].Type, Model: providers[b.Name].Model})
				stages = append(stages, &stage)
			}
		}
	}
	return stages
}

// Confinement describes the sandboxes of a plan's processes that an agent controls. These are the providers, and the
// components that run the user's commands, because an agent may have changed the commands.
type Confinement struct {
	// Confined means that one of them has a sandbox, Exposed that one of them can read a certain path.
	Confined, Exposed bool
	// Modes are the modes of providers that have a sandbox or are confined by default.
	Modes map[string]string
}

// Confinement describes the sandboxes of the plan's processes. path is absolute. providers are those of the plan's blocks.
func (c Components) Confinement(ctx context.Context, providers map[string]event.Provider, path string) Confinement {
	found := Confinement{Modes: map[string]string{}}
	add := func(kind sdk.Kind, name string, n *plan.Node) {
		component, err := c.Host.Component(ctx, kind, name)
		if err != nil || component.Provider == nil && (component.Needs == nil || !component.Needs.Commands) {
			return
		}
		as, owner := c.confinedAs(ctx, kind, component.Name, n)
		d, _ := c.Sandboxes.RequestedSandbox(ctx, c.Host, as, owner, c.Plan.EffectivePolicy(n).Sandbox)
		traits := cmp.Or(component.Provider, &sdk.ProviderTraits{})
		mode := plan.SandboxNone
		if d.IsRequested() || traits.RequiresSandbox {
			mode = cmp.Or(d.Complete().Mode, plan.SandboxWorkspace)
		}
		if component.Provider != nil && (mode != plan.SandboxNone || traits.ConfinedByDefault) {
			found.Modes[component.Name] = string(mode)
		}
		found.Confined = found.Confined || mode != plan.SandboxNone
		found.Exposed = found.Exposed || mode == plan.SandboxNone || c.Sandboxes.paths.Grants(slices.Concat(d.Read, d.Write), path)
	}
	for _, n := range ExpandStages(c.Plan, providers) {
		if n.Provider == nil {
			continue
		}
		add(sdk.KindProvider, c.providerName(n.Provider.Type), n)
		add(sdk.KindTermination, n.Termination.Type(), n)
		if len(n.Checks) > 0 {
			add(sdk.KindHookAction, plan.ActionCheck, n)
		}
	}
	for h := range c.Plan.Hooks() {
		add(sdk.KindHookAction, h.Action, nil)
	}
	return found
}
