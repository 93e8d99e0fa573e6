package pluginhost

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U266: each component has its own isolation.
func TestComponentSandbox(t *testing.T) {
	home := t.TempDir()
	for _, d := range []string{".agent", ".cache"} {
		check(t, os.Mkdir(filepath.Join(home, d), 0o755))
	}
	agent := must(filepath.EvalSymlinks(filepath.Join(home, ".agent")))
	provider := sdk.Component{Kind: sdk.KindProvider, Name: "p", Provider: &sdk.ProviderTraits{}}
	requiring := sdk.Component{Kind: sdk.KindProvider, Name: "p", Provider: &sdk.ProviderTraits{RequiresSandbox: true}}
	own := sdk.Component{Kind: sdk.KindProvider, Name: "apart", Capabilities: []string{sdk.CapabilityConfinedTools}, Provider: &sdk.ProviderTraits{}}
	executing := sdk.Component{Kind: sdk.KindProvider, Name: "executes", Capabilities: own.Capabilities, Provider: &sdk.ProviderTraits{ConfinedByDefault: true}}
	measure := sdk.Component{Kind: sdk.KindHookAction, Name: "check", Capabilities: own.Capabilities, Needs: &sdk.Needs{Commands: true}}
	needing := provider
	needing.Needs = &sdk.Needs{Network: true, Write: []string{"~/.agent", "~/.missing"}}
	strategy := sdk.Component{Kind: sdk.KindTermination, Name: "s"}
	webhook := sdk.Component{Kind: sdk.KindHookAction, Name: "w", Needs: &sdk.Needs{Network: true}}
	script := sdk.Component{Kind: sdk.KindHookAction, Name: "x", Needs: &sdk.Needs{Commands: true}}
	best := &sandboxpolicy.Policy{Mode: "workspace", Network: "off", BestEffort: true, WorkDir: "/w", Home: home}
	online := *best
	online.Network = "on"
	type policy = sandboxpolicy.Policy
	type requested = plan.Sandbox
	for _, tt := range []struct {
		name      string
		c         sdk.Component
		source    catalog.Source
		requested plan.Sandbox
		want      *sandboxpolicy.Policy
	}{
		{"a provider without a request", provider, "", requested{}, nil},
		{"one that requires it", requiring, "", requested{}, &policy{Mode: "workspace", Network: "on", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{"one that requires it and is to have none", requiring, "", requested{Mode: "none"}, &policy{Mode: "workspace", Network: "on", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{"a provider", provider, "", requested{Mode: "strict"}, &policy{Mode: "strict", Network: "on", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{
			"with everything", provider, "",
			requested{Mode: "workspace", Network: "off", Read: []string{"/r"}, Write: []string{"/x"}, Memory: 1, Processes: 2, CPU: 1.5},
			&policy{
				Mode: "workspace", Network: "off", WorkDir: "/w", Home: home, Caches: "provider", Read: []string{"/r"}, Write: []string{"/x", "/w"},
				Memory: 1, Processes: 2, CPU: 1500 * time.Millisecond,
			},
		},
		{"no mode means workspace", provider, "", requested{Network: "off"}, &policy{Mode: "workspace", Network: "off", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{
			"the needs of a bundled plugin are granted", needing, catalog.FromBundle,
			requested{Mode: "workspace"},
			&policy{Mode: "workspace", Network: "on", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w", agent}},
		},
		{"what others need is not", needing, catalog.FromConfig, requested{Mode: "workspace"}, &policy{Mode: "workspace", Network: "on", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{"the network of tools that are confined by their provider", own, catalog.FromBundle, requested{Mode: "workspace", Network: "off"}, &policy{Mode: "workspace", Network: "on", Tools: "off", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{"which is on without a request", own, catalog.FromExecutable, requested{Mode: "strict"}, &policy{Mode: "strict", Network: "on", Tools: "on", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{"and off where a provider runs what a model asks for", executing, catalog.FromBundle, requested{Mode: "workspace"}, &policy{Mode: "workspace", Network: "on", Tools: "off", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{"but on if it cannot keep its own", executing, catalog.FromConfig, requested{Mode: "workspace"}, &policy{Mode: "workspace", Network: "on", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{"the network of an action's commands", measure, catalog.FromBundle, requested{Mode: "workspace", Network: "off"}, &policy{Mode: "workspace", Network: "on", Tools: "off", WorkDir: "/w", Home: home, Caches: "hook_action", Write: []string{"/w"}}},
		{"another's word on its tools opens nothing", own, catalog.FromConfig, requested{Mode: "workspace", Network: "off"}, &policy{Mode: "workspace", Network: "off", WorkDir: "/w", Home: home, Caches: "provider", Write: []string{"/w"}}},
		{"a strategy has the best, and no network", strategy, "", requested{}, best},
		{"an action that needs it has the network", webhook, "", requested{}, &online},
		{"the user's commands are left alone", script, catalog.FromBundle, requested{}, nil},
		{
			"another's word that it runs them frees nothing", script, catalog.FromConfig,
			requested{},
			&policy{Mode: "workspace", Network: "on", BestEffort: true, WorkDir: "/w", Home: home, Caches: "hook_action", Write: []string{"/w"}},
		},
		{"and confined on request", script, "", requested{Mode: "strict"}, &policy{Mode: "strict", Network: "on", WorkDir: "/w", Home: home, Caches: "hook_action", Write: []string{"/w"}}},
		{"a strategy confined on request cannot write", strategy, "", requested{Mode: "strict"}, &policy{Mode: "strict", Network: "off", WorkDir: "/w", Home: home}},
		{"a strategy that is to have none", strategy, "", requested{Mode: "none"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{WorkDir: "/w", Environ: []string{"HOME=" + home}}
			got := must(cfg.sandboxPolicy(catalog.Entry{Component: tt.c, Plugin: catalog.Plugin{Source: tt.source}}, tt.c, Use{Sandbox: tt.requested}))
			compare(t, tt.want, got)
		})
	}
}

// An agent's own sandbox does not run inside ours, and a provider of this process cannot be confined: both are refused.
func TestUnconfinableIsRefused(t *testing.T) {
	cfg := Config{WorkDir: "/w"}
	nested := sdk.Component{Kind: sdk.KindProvider, Name: "n", Provider: &sdk.ProviderTraits{NestedSandbox: true}}
	_, err := cfg.sandboxPolicy(catalog.Entry{}, nested, Use{Sandbox: plan.Sandbox{Mode: plan.SandboxStrict}})
	require(t, err != nil && strings.Contains(err.Error(), "brings a sandbox of its own"), err)
	b, err := cfg.sandboxPolicy(catalog.Entry{}, nested, Use{})
	require(t, b == nil && err == nil, b, err)
	inside := sdk.Component{Kind: sdk.KindProvider, Name: "i"}
	err = checkConfinable(inside, Use{Sandbox: plan.Sandbox{Mode: plan.SandboxWorkspace}})
	require(t, err != nil && strings.Contains(err.Error(), "part of this program"), err)
	inside.Provider = &sdk.ProviderTraits{RequiresSandbox: true}
	err = checkConfinable(inside, Use{})
	require(t, err != nil, "a provider of this process that requires isolation is accepted")
	inside.Kind, inside.Provider = sdk.KindTermination, nil
	check(t, checkConfinable(inside, Use{Sandbox: plan.Sandbox{Mode: plan.SandboxStrict}}))
}

// The ungranted requests of a plugin that does not come with the program are reported.
func TestUngrantedRequests(t *testing.T) {
	home := t.TempDir()
	for _, d := range []string{".a", ".b", ".c"} {
		check(t, os.Mkdir(filepath.Join(home, d), 0o755))
	}
	resolved := must(filepath.EvalSymlinks(home))
	cfg := Config{Environ: []string{"HOME=" + home}}
	c := sdk.Component{Kind: sdk.KindProvider, Needs: &sdk.Needs{Read: []string{"~/.a"}, Write: []string{"~/.b", "~/.c", "~/.none"}}}
	b := &sandboxpolicy.Policy{Home: home, Read: []string{resolved + "/.b"}, Write: []string{resolved + "/.c"}}
	compare(t, []string{"~/.a", "~/.b"}, cfg.ungrantedPaths(catalog.Entry{}, c, b))
}
