package authoring

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// diagnoseTimeout bounds the check of one provider, including its start.
const diagnoseTimeout = 20 * time.Second

// ProviderCheck describes whether a provider is ready, as far as a check without network and cost can find.
type ProviderCheck struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Summary string   `json:"summary,omitempty"`
	// Default reports that the provider is used by stages that name no provider.
	Default bool `json:"default"`
	// Findings are the provider's findings about its dependencies; may be empty.
	Findings []sdk.Finding `json:"findings"`
	// Failure is the reason why the provider is not ready, nil if it is. A run would fail with this error.
	Failure *failure.Error `json:"-"`
}

// CheckProviders asks every provider, configured by the settings, whether it is ready. It starts plugin
// processes, which end with the engine. The default provider is first, the others follow by name. The error
// is [yamldoc.Diagnostics] if a settings file has faults, or ctx's cause; an unusable provider is a list entry.
func (pr Project) CheckProviders(ctx context.Context) ([]ProviderCheck, error) {
	configs, _, err := pr.env.Settings.Assign(ctx, pr.env.Host)
	if err != nil {
		return nil, err
	}
	components, err := environment.ListComponents(ctx, pr.env.Host)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(components, func(a, b sdk.Component) int { return cmp.Compare(a.Name, b.Name) })
	preferred := pr.defaultProvider(ctx)
	var checks []ProviderCheck
	for _, c := range components {
		check := ProviderCheck{Name: c.Name, Aliases: c.Aliases, Summary: c.Summary, Default: c.Name == preferred}
		switch {
		case c.Kind != sdk.KindProvider:
		case check.Default:
			checks = slices.Insert(checks, 0, check)
		default:
			checks = append(checks, check)
		}
	}
	var wait sync.WaitGroup
	for i := range checks {
		wait.Go(func() { pr.diagnose(ctx, &checks[i], configs) })
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return checks, nil
}

// defaultProvider returns the canonical name of the provider of stages that name no provider, "" for none.
func (pr Project) defaultProvider(ctx context.Context) string {
	name := cmp.Or(pr.env.Config.ProviderOverride, pr.env.Settings.Defaults().Provider, pr.env.Config.DefaultProvider)
	if c, err := pr.env.Host.Component(ctx, sdk.KindProvider, name); err == nil {
		return c.Name
	}
	return name
}

// diagnose fills in the findings of one provider.
func (pr Project) diagnose(ctx context.Context, check *ProviderCheck, configs environment.ProviderConfigs) {
	ctx, cancel := context.WithTimeoutCause(ctx, diagnoseTimeout, failure.New(failure.ProviderTimeout, "provider %s did not answer within %s", check.Name, diagnoseTimeout))
	defer cancel()
	check.Findings = []sdk.Finding{}
	provider, err := pr.env.Host.Provider(ctx, check.Name, pluginhost.Use{Names: configs.Names(ctx, pr.env.Host, check.Name)})
	if err != nil {
		check.Failure = failure.From(err)
		return
	}
	if x, ok := configs.Configure(provider, 0).(sdk.Diagnoser); ok {
		findings, err := x.Diagnose(ctx, sdk.ValidateRequest{})
		check.Findings = append(check.Findings, findings...)
		check.Failure = failure.From(err)
	}
}

// Isolation describes this system's support of an isolation mode (policy.sandbox).
type Isolation struct {
	Mode string `json:"mode"` // workspace or strict
	// Landlock is the usable Landlock ABI, 0 for none. Bubblewrap is the version of bubblewrap, "" for none.
	Landlock   int    `json:"landlock,omitempty"`
	Bubblewrap string `json:"bubblewrap,omitempty"`
	// Guarded: a plugin cannot change .claude, nor git's configuration and hooks.
	Guarded bool `json:"guarded,omitempty"`
	// NoLoopback says why tools without network have no loopback interface; "" if they have one. NoLoopbackHint is the remedy.
	NoLoopback     string `json:"no_loopback,omitempty"`
	NoLoopbackHint string `json:"no_loopback_hint,omitempty"`
	// Failure says why the mode is unavailable, nil if it is available.
	Failure *failure.Error `json:"-"`
}

// CheckIsolation tries every isolation mode with a process that only confines itself.
func (pr Project) CheckIsolation(ctx context.Context) []Isolation {
	var all []Isolation
	for _, mode := range []sandboxpolicy.Mode{sandboxpolicy.Workspace, sandboxpolicy.Strict} {
		got, err := pr.env.Host.Probe(ctx, mode)
		i := Isolation{Mode: string(mode), Landlock: got.Landlock, Bubblewrap: got.Bubblewrap, Guarded: got.Guarded, Failure: failure.From(err)}
		for _, missing := range got.Missing {
			if strings.HasPrefix(missing, sandboxpolicy.NoLoopback) {
				i.NoLoopback, i.NoLoopbackHint = missing, sandboxpolicy.NamespaceHint()
			}
		}
		all = append(all, i)
	}
	return all
}
