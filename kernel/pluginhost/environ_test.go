package pluginhost

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

var user = []string{
	"PATH=/bin", "HOME=/home/u", "LC_ALL=C", "ANTHROPIC_API_KEY=secret", "GOFLAGS=-mod=mod", "EMPTY=",
	"PLUGIN_MIN_PORT=1", "AGENT_PIPELINES_PLUGIN_COOKIE=x", "AGENT_PIPELINES_RUN=outer@1.2",
	"AGENT_PIPELINES_PROCESS=4", "AGENT_PIPELINES_ROOT=/p", "no equals sign", "=odd", "PATH=/usr/bin",
}

func TestBuild(t *testing.T) {
	tests := []struct {
		name string
		p    EnvPolicy
		set  map[string]string
		want []string
	}{
		{"inherit leaves handshakes out", EnvPolicy{Mode: EnvInherit}, nil, []string{
			"AGENT_PIPELINES_ROOT=/p", "ANTHROPIC_API_KEY=secret", "EMPTY=", "GOFLAGS=-mod=mod",
			"HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin",
		}},
		{"minimal", EnvPolicy{Mode: EnvMinimal}, nil, []string{"HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin"}},
		{"the zero policy is minimal", EnvPolicy{}, nil, []string{"HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin"}},
		{
			"names",
			EnvPolicy{Mode: EnvMinimal, Names: []string{"ANTHROPIC_API_KEY", "UNSET"}},
			nil,
			[]string{"ANTHROPIC_API_KEY=secret", "HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin"},
		},
		{
			"a handshake variable cannot be named",
			EnvPolicy{Mode: EnvMinimal, Names: []string{"AGENT_PIPELINES_RUN"}},
			nil,
			[]string{"HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin"},
		},
		{
			"own entries win",
			EnvPolicy{Mode: EnvMinimal},
			map[string]string{"PATH": "/opt", "X": "1"},
			[]string{"HOME=/home/u", "LC_ALL=C", "PATH=/opt", "X=1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.want, BuildEnv(user, tt.p, tt.set))
		})
	}
}

// A plugin gets the user's environment for what it is, not for the name that it gives its component. AUDIT F11.
func TestDefaultEnv(t *testing.T) {
	all := &sdk.Needs{Commands: true, Environment: []string{sdk.AllVariables}}
	tests := []struct {
		kind    sdk.Kind
		name    string
		needs   *sdk.Needs
		shipped bool
		want    EnvPolicy
	}{
		{sdk.KindProvider, "anything", nil, false, EnvPolicy{Mode: EnvPublic}},
		{sdk.KindProvider, "claude", &sdk.Needs{Environment: []string{"A"}}, true, EnvPolicy{Mode: EnvPublic, Names: []string{"A"}}},
		{sdk.KindProvider, "claude", &sdk.Needs{Environment: []string{"A"}}, false, EnvPolicy{Mode: EnvPublic}},
		{sdk.KindTermination, "queue", all, true, EnvPolicy{Mode: EnvPublic}},
		{sdk.KindProvider, "command", all, true, EnvPolicy{Mode: EnvPublic}},
		{sdk.KindHookAction, "script", all, false, EnvPolicy{Mode: EnvMinimal}},
		{sdk.KindTermination, "queue", &sdk.Needs{Commands: true}, true, EnvPolicy{Mode: EnvMinimal}},
		{sdk.KindHookAction, "webhook", &sdk.Needs{Environment: []string{"A"}}, true, EnvPolicy{Mode: EnvMinimal, Names: []string{"A"}}},
		{sdk.KindHookAction, "webhook", &sdk.Needs{Environment: []string{"A"}}, false, EnvPolicy{Mode: EnvMinimal}},
	}
	for _, tt := range tests {
		compare(t, tt.want, DefaultEnv(sdk.Component{Kind: tt.kind, Name: tt.name, Needs: tt.needs}, tt.shipped))
	}
}

// A component that is configured by variables, as the judge is since the Bash engine, gets those and no key (U274).
func TestNeededVariables(t *testing.T) {
	user := []string{"JUDGE_MODEL=m", "JUDGE_PROVIDER=p", "JUDGE_KEY=secret", "ANTHROPIC_API_KEY=secret", "PATH=/bin"}
	judge := sdk.Component{Kind: sdk.KindTermination, Needs: &sdk.Needs{Environment: []string{"JUDGE_MODEL", "JUDGE_PROVIDER"}}}
	compare(t, []string{"JUDGE_MODEL=m", "JUDGE_PROVIDER=p", "PATH=/bin"}, BuildEnv(user, DefaultEnv(judge, true), nil))
}

// U320, AUDIT B4: commands, hooks and checks get no variable whose name marks a secret unless it is named.
func TestSecretsAreWithheld(t *testing.T) {
	user := []string{"GOPROXY=off", "DB_PASSWORD=p", "API_TOKEN=t", "SSH_AUTH_SOCK=/s", "PLUGIN_TOKEN=1"}
	unusual := []string{"DB_PASS=p", "DATABASE_URL=postgres://me:p@h/db", "HOME_URL=https://h/db"}
	compare(t, []string{"HOME_URL=https://h/db"}, BuildEnv(unusual, EnvPolicy{Mode: EnvPublic}, nil))
	compare(t, []string{"DATABASE_URL", "DB_PASS"}, (EnvPolicy{Mode: EnvPublic}).withheld(unusual))
	public := EnvPolicy{Mode: EnvPublic}
	compare(t, []string{"GOPROXY=off", "SSH_AUTH_SOCK=/s"}, BuildEnv(user, public, nil))
	compare(t, []string{"API_TOKEN", "DB_PASSWORD"}, public.withheld(user))
	named := public.WithNames([]string{"API_TOKEN"})
	compare(t, []string{"API_TOKEN=t", "GOPROXY=off", "SSH_AUTH_SOCK=/s"}, BuildEnv(user, named, nil))
	compare(t, []string{"DB_PASSWORD"}, named.withheld(user))
	require(t, len((EnvPolicy{Mode: EnvInherit}).withheld(user)) == 0, "an inherited environment withholds nothing")
	asked := EnvPolicy{Mode: EnvMinimal, Names: []string{"DB_PASSWORD", "GOPROXY"}}
	compare(t, []string{"GOPROXY=off"}, BuildEnv(user, public.Narrow(asked), nil))
	asked.Adds = true // by a project that the user trusts
	compare(t, []string{"DB_PASSWORD=p", "GOPROXY=off"}, BuildEnv(user, public.Narrow(asked), nil))
	compare(t, []string{"API_TOKEN=t", "DB_PASSWORD=p", "GOPROXY=off", "SSH_AUTH_SOCK=/s"}, BuildEnv(user, public.Narrow(EnvPolicy{Mode: EnvInherit, Adds: true}), nil))
}

func TestWithinNeverWidens(t *testing.T) {
	all := EnvPolicy{Mode: EnvInherit}
	public := EnvPolicy{Mode: EnvPublic}
	least := EnvPolicy{Mode: EnvMinimal}
	named := EnvPolicy{Mode: EnvMinimal, Names: []string{"A", "B"}}
	tests := []struct {
		name                 string
		p, requested, within EnvPolicy
	}{
		{"nothing asked", all, EnvPolicy{}, all},
		{"narrowed to the least", all, least, least},
		{"narrowed to names", all, named, named},
		{"minimal stays minimal", least, all, least},
		{"without secrets stays without them", public, all, public},
		{"names of a minimal one are dropped", least, named, EnvPolicy{Mode: EnvMinimal, Names: []string{}}},
		{"only common names are left", named, EnvPolicy{Mode: EnvMinimal, Names: []string{"B", "C"}}, EnvPolicy{Mode: EnvMinimal, Names: []string{"B"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.p.Narrow(tt.requested)
			compare(t, tt.within, got)
			for _, entry := range BuildEnv(user, got, nil) {
				require(t, slices.Contains(BuildEnv(user, tt.p, nil), entry), entry)
			}
		})
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		words []string
		want  EnvPolicy
		kind  failure.Kind
	}{
		{nil, EnvPolicy{}, ""},
		{[]string{"inherit"}, EnvPolicy{Mode: EnvInherit}, ""},
		{[]string{"minimal"}, EnvPolicy{Mode: EnvMinimal}, ""},
		{[]string{"A", "B"}, EnvPolicy{Mode: EnvMinimal, Names: []string{"A", "B"}}, ""},
		{[]string{"A=1"}, EnvPolicy{}, failure.ConfigInvalid},
		{[]string{"A", ""}, EnvPolicy{}, failure.ConfigInvalid},
	}
	for _, tt := range tests {
		got, err := ParseEnv(tt.words)
		compare(t, tt.want, got)
		require(t, failure.KindOf(err) == tt.kind, err)
	}
}

// A webhook sees the variables that its own hook names, and no other key (REQUIREMENTS U245).
func TestWebhookReceivesNamedVariables(t *testing.T) {
	user := []string{"HTTPS_PROXY=p", "TOKEN=t", "KEY=k", "OTHER=secret", "PLUGIN_X=1", "PATH=/bin"}
	named := ReferencedEnv(json.RawMessage(`{"url": "https://x", "headers": {"A": "Bearer ${TOKEN} ${PLUGIN_X}", "B": "${", "C": "$OTHER"}, "secret_env": "KEY", "more": [{"deep_env": "TOKEN"}], "n": 1}`))
	compare(t, []string{"KEY", "PLUGIN_X", "TOKEN"}, named)
	proxy := sdk.Component{Kind: sdk.KindHookAction, Needs: &sdk.Needs{Environment: []string{"HTTPS_PROXY"}}}
	set := DefaultEnv(proxy, true).WithNames(named)
	compare(t, []string{"HTTPS_PROXY=p", "KEY=k", "PATH=/bin", "TOKEN=t"}, BuildEnv(user, set, nil))
	narrow := set.Narrow(EnvPolicy{Mode: EnvMinimal, Names: []string{"KEY", "OTHER"}})
	compare(t, []string{"KEY=k", "PATH=/bin"}, BuildEnv(user, narrow, nil))
	all := (EnvPolicy{Mode: EnvInherit}).WithNames(named)
	require(t, len(all.Names) == 0, all.Names)
	require(t, ReferencedEnv(json.RawMessage(`{`)) == nil && ReferencedEnv(nil) == nil, "an invalid configuration names variables")
}

func TestNamesHoldNoValue(t *testing.T) {
	got := EnvNames([]string{"B=secret", "A=1=2", "B=other"})
	compare(t, []string{"A", "B"}, got)
}

func FuzzParseEnv(f *testing.F) {
	for _, s := range []string{"", "inherit", "minimal", "A,B", "A=1", ",", "inherit,minimal"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseEnv(strings.Split(s, ","))
		if err != nil {
			return
		}
		for _, n := range p.Names {
			if n == "" || strings.Contains(n, "=") {
				t.Errorf("Parse(%q) lets the name %q through", s, n)
			}
		}
	})
}
