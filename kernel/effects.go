package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/hook"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/environ"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/run"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/strategy"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// effects performs the scheduler's commands with the rooms that can: it implements run.Effects.
type effects struct {
	host    *pluginhost.Host
	standIn string
	configs userConfigs
	maker   *attempt.Maker
	asker   *strategy.Asker
	hooks   *hook.Caller
}

// Attempt implements run.Effects.
func (f *effects) Attempt(ctx context.Context, w run.Work) event.Event {
	m := *f.maker
	m.Providers = f.providers(w.Node)
	return m.Make(ctx, attempt.Job(w))
}

// Strategy implements run.Effects.
func (f *effects) Strategy(ctx context.Context, w run.Work) event.Event {
	return f.asker.Ask(ctx, decision(w))
}

// Hook implements run.Effects.
func (f *effects) Hook(ctx context.Context, w run.Work) event.Event {
	return f.hooks.Call(ctx, hook.Job{Command: w.Command, State: w.State, Record: w.Record})
}

func decision(w run.Work) strategy.Job {
	return strategy.Job{Command: w.Command, Node: w.Node, State: w.State, Record: w.Record}
}

// Question implements run.Effects.
func (f *effects) Question(ctx context.Context, w run.Work) event.Event {
	return f.asker.Put(ctx, decision(w), f.providers(w.Node))
}

// Manifest implements run.Effects.
func (f *effects) Manifest(w run.Work) (event.Event, error) {
	at := w.Command.Place
	ref, err := f.maker.Inputs.WriteManifest(w.State, at, time.Now())
	return event.New(event.ArtifactWritten, at.Cursor(), w.Command.Key, event.ArtifactWrittenData{Name: event.Manifest, Ref: ref}), err
}

func (f *effects) providers(n *plan.Node) providers {
	return providers{host: f.host, standIn: f.standIn, configs: f.configs, policy: f.maker.Plan.PolicyOf(n)}
}

// providers finds the providers of one node as the user configured them, in the environment that the
// node's policy allows.
type providers struct {
	host    *pluginhost.Host
	standIn string
	configs userConfigs
	policy  plan.Policy
}

// Provider implements attempt.Providers and strategy.Providers.
func (p providers) Provider(ctx context.Context, name string) (sdk.Provider, error) {
	if p.standIn != "" {
		name = p.standIn
	}
	env, err := environment(p.policy.Env)
	if err != nil {
		return nil, err
	}
	provider, err := p.host.Provider(ctx, name, pluginhost.Use{Env: env})
	if err != nil {
		return nil, err
	}
	return p.configs.of(provider), nil
}

// strategies finds termination strategies.
type strategies struct{ host *pluginhost.Host }

// Termination implements strategy.Strategies.
func (s strategies) Termination(ctx context.Context, name string) (sdk.Termination, error) {
	return s.host.Termination(ctx, name, pluginhost.Use{})
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
