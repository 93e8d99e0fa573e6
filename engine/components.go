package engine

import (
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
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/environ"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// components finds the components of a session: configured, in the environment and in the isolation that the
// plan and the settings of project and user want for a node.
type components struct {
	host      *pluginhost.Host
	standIn   string
	skipHooks []string
	configs   userConfigs
	plan      *plan.Plan
	sandboxes sandboxes
}

func (s *session) components() components {
	return components{
		host: s.host, standIn: s.engine.config.standIn, skipHooks: s.engine.config.skipHooks, configs: s.configs, plan: s.plan, sandboxes: s.sandboxes(),
	}
}

// provider is a provider for a node.
func (c components) provider(ctx context.Context, name string, at *plan.Node) (sdk.Provider, error) {
	if c.standIn != "" && name != plan.ProviderCommand { // which asks no model, as checks do not
		name = c.standIn
	}
	use, err := c.use(ctx, sdk.KindProvider, name, at)
	if err != nil {
		return nil, err
	}
	provider, err := c.host.Provider(ctx, name, use)
	if err != nil {
		return nil, err
	}
	return c.configs.of(provider), c.checkMode(provider.Describe(), at)
}

// checkMode refuses a provider whose model is elsewhere, under a mode that allows local ones alone. One whose
// configuration says where its model is judges by itself.
func (c components) checkMode(of sdk.Component, at *plan.Node) error {
	mode := c.plan.PolicyOf(at).Mode
	if !plan.LocalMode(mode) || of.Provider == nil || of.Provider.Complete().Locality != sdk.LocalityRemote {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "provider %s asks a remote model, which mode %s does not allow", of.Name, mode).
		WithHint("use a provider with a local model, such as agent, or another mode: policy.mode of the pipeline, mode of the settings, or --mode")
}

// strategy is a termination strategy for a node. Its environment is its own default: the policy's is about agents.
func (c components) strategy(ctx context.Context, name string, at *plan.Node) (sdk.Termination, error) {
	use, err := c.use(ctx, sdk.KindTermination, name, at)
	if err != nil {
		return nil, err
	}
	use.Env = environ.Policy{}
	return c.host.Termination(ctx, name, use)
}

// HookAction implements hook.Actions: the action gets the variables that the hook names.
func (c components) HookAction(ctx context.Context, h *plan.Hook, at *plan.Node) (sdk.HookAction, error) {
	if h.Action != plan.ActionCheck && (slices.Contains(c.skipHooks, h.Action) || slices.Contains(c.skipHooks, AllHooks)) {
		return skippedAction{name: h.Action}, nil
	}
	use, err := c.use(ctx, sdk.KindHookAction, h.Action, at)
	if err != nil {
		return nil, err
	}
	use.Names = environ.Named(h.Config)
	return c.host.HookAction(ctx, h.Action, use)
}

// skippedAction is an action that is not called.
type skippedAction struct{ name string }

// Describe implements [sdk.HookAction].
func (a skippedAction) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindHookAction, Name: a.name}
}

// Run implements [sdk.HookAction].
func (a skippedAction) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	return sdk.HookAnswer{Action: sdk.ActionContinue, Reason: "left out"}, nil
}

// use is how a component's process is set up for a node, nil for none. It fails where the isolation that is
// asked for cannot be had.
func (c components) use(ctx context.Context, kind sdk.Kind, name string, at *plan.Node) (pluginhost.Use, error) {
	policy := c.plan.PolicyOf(at)
	env, err := environment(policy.Env)
	if err != nil {
		return pluginhost.Use{}, err
	}
	use := pluginhost.Use{Env: env}
	if use.Sandbox, err = c.sandboxes.of(ctx, c.host, kind, name, policy.Sandbox); err != nil {
		return use, err
	}
	return use, c.host.CheckSandbox(ctx, kind, name, use)
}

// environment reads a policy's env: a word or a list of names.
func environment(env json.RawMessage) (environ.Policy, error) {
	if len(env) == 0 {
		return environ.Policy{}, nil
	}
	var words []string
	if json.Unmarshal(env, &words) != nil {
		var word string
		if err := json.Unmarshal(env, &word); err != nil {
			return environ.Policy{}, fmt.Errorf("read policy.env: %w", err)
		}
		words = []string{word}
	}
	return environ.Parse(words)
}

// nodeComponents are the components for one node. It implements attempt.Providers, strategy.Providers and
// strategy.Strategies.
type nodeComponents struct {
	components
	node *plan.Node
}

// Provider implements attempt.Providers and strategy.Providers.
func (c nodeComponents) Provider(ctx context.Context, name string) (sdk.Provider, error) {
	return c.provider(ctx, name, c.node)
}

// Termination implements strategy.Strategies.
func (c nodeComponents) Termination(ctx context.Context, name string) (sdk.Termination, error) {
	return c.strategy(ctx, name, c.node)
}

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

// sandboxes know how the components of a plan are to be confined.
type sandboxes struct {
	project, user settings.Settings
	run           *plan.Sandbox // what whoever started the run said
	trusted       bool          // the user trusts the project
	places        sandboxpolicy.Resolver
	log           hclog.Logger
}

func (e *Engine) sandboxes(p *plan.Plan) sandboxes {
	s := sandboxes{
		project: e.settings.project.Settings, user: e.settings.user.Settings, trusted: e.settings.trusted,
		places: e.places(), log: e.log.Named("sandbox"),
	}
	if p != nil && p.Pipeline.Overrides != nil {
		s.run = p.Pipeline.Overrides.Sandbox
	}
	return s
}

// narrowed are s with the word of whoever resumes: the stricter of each member, and its paths beside the run's.
func (s sandboxes) narrowed(by *plan.Sandbox) sandboxes {
	if by == nil {
		return s
	}
	run := s.run.Within(by)
	run.Read, run.Write = slices.Concat(run.Read, by.Read), slices.Concat(run.Write, by.Write)
	s.run = run
	return s
}

func (s *session) sandboxes() sandboxes { return s.engine.sandboxes(s.plan).narrowed(s.sandbox) }

// places are what the paths in settings and pipelines are relative to.
func (e *Engine) places() sandboxpolicy.Resolver {
	return sandboxpolicy.Resolver{Project: e.config.workDir, Home: e.config.variable("HOME"), Variable: e.config.variable}
}

// of is what is asked for a component, its paths resolved; author is what the pipeline says.
func (s sandboxes) of(ctx context.Context, host *pluginhost.Host, kind sdk.Kind, name string, author *plan.Sandbox) (plan.Sandbox, error) {
	d, ignored := s.demand(ctx, host, kind, name, author)
	if len(ignored) > 0 {
		s.log.Warn("what the project grants is not granted, since you ask for a sandbox and do not trust the project",
			"component", name, "paths", strings.Join(ignored, ", "))
	}
	var err error
	if d.Read, err = s.places.Grants("read", d.Read, d.Write); err != nil {
		return d, err
	}
	d.Write, err = s.places.Grants("write", d.Write, d.Write)
	return d, err
}

// demand is what is asked for a component, its paths as they were written, and the paths that nobody grants.
func (s sandboxes) demand(ctx context.Context, host *pluginhost.Host, kind sdk.Kind, name string, author *plan.Sandbox) (d plan.Sandbox, ignored []string) {
	of := func(said settings.Settings) *plan.Sandbox { return said.Sandbox }
	if kind == sdk.KindProvider {
		of = func(said settings.Settings) *plan.Sandbox { return sandboxOf(ctx, host, said, name) }
	}
	return sandboxpolicy.Requests{User: s.run.Over(of(s.user)), Author: author.Over(of(s.project)), Trusted: s.trusted}.Demand()
}

// sandboxOf is what a file of settings says of a provider.
func sandboxOf(ctx context.Context, host *pluginhost.Host, said settings.Settings, name string) *plan.Sandbox {
	component, err := host.Component(ctx, sdk.KindProvider, name)
	if err != nil {
		return said.Sandbox // whoever calls the provider says why there is none
	}
	for _, p := range said.Providers {
		if other, err := host.Component(ctx, sdk.KindProvider, p.Name); err == nil && other.Name == component.Name {
			return p.Sandbox.Over(said.Sandbox)
		}
	}
	return said.Sandbox
}

// sandboxData is what the journal says of a process's isolation, nil for none.
func sandboxData(n pluginhost.Notice) *event.SandboxData {
	if n.Sandbox == nil || n.Asked == nil {
		return nil
	}
	got := n.Sandbox
	return &event.SandboxData{
		Asked: string(n.Asked.Mode), AskedNetwork: string(n.Asked.Network), Unasked: n.Asked.Best,
		Mode: string(got.Mode), Network: string(got.Network), Landlock: got.Landlock, Seccomp: got.Seccomp, Bubblewrap: got.Bubblewrap,
		Read: n.Asked.Read, Write: n.Asked.Write, Memory: got.Memory, Processes: got.Processes, CPU: got.CPUSeconds, Lacks: got.Lacks,
	}
}

// Confine is the end of a command line that [WithSandboxHelper] names: it takes the arguments behind that,
// confines this process and becomes the plugin. It returns the code to exit with only where it could not.
func Confine(args []string) int { return sandbox.Main(args) }

// ParseSize reads a number of bytes, or a size such as 512M or 2G, for [plan.Sandbox].
func ParseSize(text string) (int64, error) { return sandboxpolicy.ParseSize(text) }
