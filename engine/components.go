package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
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
	use.Env = pluginhost.EnvPolicy{}
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
	use.Names = pluginhost.ReferencedEnv(h.Config)
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
func environment(env json.RawMessage) (pluginhost.EnvPolicy, error) {
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
