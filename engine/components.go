package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// components finds the components of a session, configured and confined for a node as the plan and both
// settings files require.
type components struct {
	host             *pluginhost.Host
	providerOverride string
	skipHooks        []string
	configs          providerConfigs
	plan             *plan.Plan
	sandboxes        sandboxSettings
}

func (s *session) components() components {
	return components{
		host: s.host, providerOverride: s.engine.config.providerOverride, skipHooks: s.engine.config.skipHooks, configs: s.configs, plan: s.plan, sandboxes: s.sandboxSettings(),
	}
}

// provider returns the provider for a node.
func (c components) provider(ctx context.Context, name string, node *plan.Node) (sdk.Provider, error) {
	if c.providerOverride != "" && name != plan.ProviderCommand { // it calls no model; neither do checks
		name = c.providerOverride
	}
	use, err := c.use(ctx, sdk.KindProvider, name, node)
	if err != nil {
		return nil, err
	}
	provider, err := c.host.Provider(ctx, name, use)
	if err != nil {
		return nil, err
	}
	return c.configs.configure(provider), c.checkMode(provider.Describe(), node)
}

// checkMode rejects a provider with a remote model if the mode allows only local ones. A provider whose
// configuration sets the locality decides by itself.
func (c components) checkMode(component sdk.Component, node *plan.Node) error {
	mode := c.plan.EffectivePolicy(node).Mode
	if !plan.LocalMode(mode) || component.Provider == nil || component.Provider.WithDefaults().Locality != sdk.LocalityRemote {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "provider %s asks a remote model, which mode %s does not allow", component.Name, mode).
		WithHint("use a provider with a local model, such as agent, or another mode: policy.mode of the pipeline, mode of the settings, or --mode")
}

// strategy returns the termination strategy for a node. It keeps its default environment: policy.env is for
// agents.
func (c components) strategy(ctx context.Context, name string, node *plan.Node) (sdk.Termination, error) {
	use, err := c.use(ctx, sdk.KindTermination, name, node)
	if err != nil {
		return nil, err
	}
	use.Env = pluginhost.EnvPolicy{}
	return c.host.Termination(ctx, name, use)
}

// HookAction implements hook.Actions. The action gets the environment variables that the hook's configuration
// names.
func (c components) HookAction(ctx context.Context, h *plan.Hook, node *plan.Node) (sdk.HookAction, error) {
	if h.Action != plan.ActionCheck && (slices.Contains(c.skipHooks, h.Action) || slices.Contains(c.skipHooks, AllHooks)) {
		return skippedAction{name: h.Action}, nil
	}
	use, err := c.use(ctx, sdk.KindHookAction, h.Action, node)
	if err != nil {
		return nil, err
	}
	use.Names = pluginhost.ReferencedEnv(h.Config)
	return c.host.HookAction(ctx, h.Action, use)
}

// skippedAction replaces an action disabled by [WithoutHooks] and always continues.
type skippedAction struct{ name string }

// Describe implements [sdk.HookAction].
func (a skippedAction) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindHookAction, Name: a.name}
}

// Run implements [sdk.HookAction].
func (a skippedAction) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	return sdk.HookAnswer{Action: sdk.ActionContinue, Reason: "left out"}, nil
}

// use returns the environment and sandbox of a component's process for a node, nil for the session. It fails
// if the requested isolation is unavailable.
func (c components) use(ctx context.Context, kind sdk.Kind, name string, node *plan.Node) (pluginhost.Use, error) {
	policy := c.plan.EffectivePolicy(node)
	env, err := parseEnvPolicy(policy.Env)
	if err != nil {
		return pluginhost.Use{}, err
	}
	use := pluginhost.Use{Env: env}
	if use.Sandbox, err = c.sandboxes.resolve(ctx, c.host, kind, name, policy.Sandbox); err != nil {
		return use, err
	}
	return use, c.host.CheckSandbox(ctx, kind, name, use)
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

// nodeComponents finds the components for one node. It implements attempt.Providers, termination.Providers
// and termination.Strategies.
type nodeComponents struct {
	components
	node *plan.Node
}

// Provider implements attempt.Providers and termination.Providers.
func (c nodeComponents) Provider(ctx context.Context, name string) (sdk.Provider, error) {
	return c.provider(ctx, name, c.node)
}

// Termination implements termination.Strategies.
func (c nodeComponents) Termination(ctx context.Context, name string) (sdk.Termination, error) {
	return c.strategy(ctx, name, c.node)
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

// expandStages returns the stages of a plan as they run: those of parallel blocks once per provider.
func expandStages(p *plan.Plan, providers map[string]event.Provider) []*plan.Node {
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

// sandboxSettings determines the isolation of a plan's components.
type sandboxSettings struct {
	project, user settings.Settings
	run           *plan.Sandbox // the text given at the start
	trusted       bool          // the user trusts the project
	paths         sandboxpolicy.Resolver
	log           hclog.Logger
}

func (e *Engine) sandboxSettings(p *plan.Plan) sandboxSettings {
	s := sandboxSettings{
		project: e.settings.project.Settings, user: e.settings.user.Settings, trusted: e.settings.trusted,
		paths: sandboxpolicy.Resolver{Project: e.config.workDir, Home: e.config.variable("HOME"), Variable: e.config.variable},
		log:   e.log.Named("sandbox"),
	}
	if p != nil && p.Pipeline.Overrides != nil {
		s.run = p.Pipeline.Overrides.Sandbox
	}
	return s
}

// narrow adds a resume's restriction: the stricter value of each member, and its paths beside the run's.
func (s sandboxSettings) narrow(by *plan.Sandbox) sandboxSettings {
	if by == nil {
		return s
	}
	run := s.run.Restrict(by)
	run.Read, run.Write = slices.Concat(run.Read, by.Read), slices.Concat(run.Write, by.Write)
	s.run = run
	return s
}

func (s *session) sandboxSettings() sandboxSettings {
	return s.engine.sandboxSettings(s.plan).narrow(s.sandbox)
}

// resolve returns the requested sandbox of a component with resolved paths; author is the pipeline's request.
func (s sandboxSettings) resolve(ctx context.Context, host *pluginhost.Host, kind sdk.Kind, name string, author *plan.Sandbox) (plan.Sandbox, error) {
	d, ignored := s.demand(ctx, host, kind, name, author)
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

// demand returns the requested sandbox of a component with its paths as written, and the paths that are not
// granted.
func (s sandboxSettings) demand(ctx context.Context, host *pluginhost.Host, kind sdk.Kind, name string, author *plan.Sandbox) (d plan.Sandbox, ignored []string) {
	requested := func(set settings.Settings) *plan.Sandbox { return set.Sandbox }
	if kind == sdk.KindProvider {
		requested = func(set settings.Settings) *plan.Sandbox { return providerSandbox(ctx, host, set, name) }
	}
	return sandboxpolicy.Requests{User: s.run.WithDefaults(requested(s.user)), Author: author.WithDefaults(requested(s.project)), Trusted: s.trusted}.Resolve()
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

// sandboxData returns the journal's description of a process's isolation, nil for none.
func sandboxData(n pluginhost.Notice) *event.SandboxData {
	if n.Sandbox == nil || n.Asked == nil {
		return nil
	}
	got := n.Sandbox
	return &event.SandboxData{
		Asked: string(n.Asked.Mode), AskedNetwork: string(n.Asked.Network), Unasked: n.Asked.BestEffort,
		Mode: string(got.Mode), Network: string(got.Network), Landlock: got.Landlock, Seccomp: got.Seccomp, Bubblewrap: got.Bubblewrap,
		Read: n.Asked.Read, Write: n.Asked.Write, Memory: got.Memory, Processes: got.Processes, CPU: got.CPUSeconds, Lacks: got.Missing,
	}
}

// Confine ends the command line of [WithSandboxHelper]. It confines this process and becomes the plugin given
// by the remaining arguments. It returns, with an exit code, only on failure.
func Confine(args []string) int { return sandbox.Main(args) }

// ParseSize parses a number of bytes, or a size such as 512M or 2G, for [plan.Sandbox].
func ParseSize(text string) (int64, error) { return sandboxpolicy.ParseSize(text) }
