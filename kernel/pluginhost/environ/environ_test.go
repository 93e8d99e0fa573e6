package environ

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		p    Policy
		own  map[string]string
		want []string
	}{
		{"inherit leaves handshakes out", Policy{Mode: Inherit}, nil, []string{
			"AGENT_PIPELINES_ROOT=/p", "ANTHROPIC_API_KEY=secret", "EMPTY=", "GOFLAGS=-mod=mod",
			"HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin",
		}},
		{"minimal", Policy{Mode: Only}, nil, []string{"HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin"}},
		{"the zero policy is minimal", Policy{}, nil, []string{"HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin"}},
		{
			"names",
			Policy{Mode: Only, Names: []string{"ANTHROPIC_API_KEY", "UNSET"}},
			nil,
			[]string{"ANTHROPIC_API_KEY=secret", "HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin"},
		},
		{
			"a handshake variable cannot be named",
			Policy{Mode: Only, Names: []string{"AGENT_PIPELINES_RUN"}},
			nil,
			[]string{"HOME=/home/u", "LC_ALL=C", "PATH=/usr/bin"},
		},
		{
			"own entries win",
			Policy{Mode: Only},
			map[string]string{"PATH": "/opt", "X": "1"},
			[]string{"HOME=/home/u", "LC_ALL=C", "PATH=/opt", "X=1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Build(user, tt.p, tt.own)); diff != "" {
				t.Errorf("Build (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefault(t *testing.T) {
	tests := []struct {
		kind sdk.Kind
		name string
		want Mode
	}{
		{sdk.KindProvider, "anything", Inherit},
		{sdk.KindTermination, "queue", Inherit},
		{sdk.KindHookAction, "script", Inherit},
		{sdk.KindHookAction, "check", Inherit},
		{sdk.KindTermination, "judge", Only},
		{sdk.KindHookAction, "webhook", Only},
		{sdk.KindTermination, "third-party", Only},
	}
	for _, tt := range tests {
		if got := Default(tt.kind, tt.name); got.Mode != tt.want {
			t.Errorf("Default(%s, %s) = %v, want %s", tt.kind, tt.name, got, tt.want)
		}
	}
}

// The judge is set by variables, as in the Bash engine, and still sees no key (REQUIREMENTS U274).
func TestJudgeSeesItsSettings(t *testing.T) {
	user := []string{"JUDGE_MODEL=m", "JUDGE_PROVIDER=p", "JUDGE_PROMPT_PATH=f", "MOCK_MODE=true", "JUDGE_KEY=secret", "ANTHROPIC_API_KEY=secret", "PATH=/bin"}
	got := Build(user, Default(sdk.KindTermination, "judge"), nil)
	want := []string{"JUDGE_MODEL=m", "JUDGE_PROMPT_PATH=f", "JUDGE_PROVIDER=p", "MOCK_MODE=true", "PATH=/bin"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestWithinNeverWidens(t *testing.T) {
	all := Policy{Mode: Inherit}
	least := Policy{Mode: Only}
	named := Policy{Mode: Only, Names: []string{"A", "B"}}
	tests := []struct {
		name             string
		p, asked, within Policy
	}{
		{"nothing asked", all, Policy{}, all},
		{"narrowed to the least", all, least, least},
		{"narrowed to names", all, named, named},
		{"minimal stays minimal", least, all, least},
		{"names of a minimal one are dropped", least, named, Policy{Mode: Only, Names: []string{}}},
		{"only common names are left", named, Policy{Mode: Only, Names: []string{"B", "C"}}, Policy{Mode: Only, Names: []string{"B"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.p.Within(tt.asked)
			if diff := cmp.Diff(tt.within, got); diff != "" {
				t.Errorf("Within (-want +got):\n%s", diff)
			}
			for _, entry := range Build(user, got, nil) {
				if !slices.Contains(Build(user, tt.p, nil), entry) {
					t.Errorf("%s is passed on now and was not before", entry)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		words []string
		want  Policy
		kind  failure.Kind
	}{
		{nil, Policy{}, ""},
		{[]string{"inherit"}, Policy{Mode: Inherit}, ""},
		{[]string{"minimal"}, Policy{Mode: Only}, ""},
		{[]string{"A", "B"}, Policy{Mode: Only, Names: []string{"A", "B"}}, ""},
		{[]string{"A=1"}, Policy{}, failure.ConfigInvalid},
		{[]string{"A", ""}, Policy{}, failure.ConfigInvalid},
	}
	for _, tt := range tests {
		got, err := Parse(tt.words)
		if diff := cmp.Diff(tt.want, got); diff != "" || failure.KindOf(err) != tt.kind {
			t.Errorf("Parse(%q) error %v (-want +got):\n%s", tt.words, err, diff)
		}
	}
}

// A webhook sees the variables that its own hook names, and no other key (REQUIREMENTS U245).
func TestWebhookSeesWhatItsHookNames(t *testing.T) {
	user := []string{"HTTPS_PROXY=p", "TOKEN=t", "KEY=k", "OTHER=secret", "PLUGIN_X=1", "PATH=/bin"}
	named := Named([]byte(`{"url": "https://x", "headers": {"A": "Bearer ${TOKEN} ${PLUGIN_X}", "B": "${", "C": "$OTHER"}, "secret_env": "KEY", "more": [{"deep_env": "TOKEN"}], "n": 1}`))
	if diff := cmp.Diff([]string{"KEY", "PLUGIN_X", "TOKEN"}, named); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	own := Default(sdk.KindHookAction, "webhook").And(named)
	if diff := cmp.Diff([]string{"HTTPS_PROXY=p", "KEY=k", "PATH=/bin", "TOKEN=t"}, Build(user, own, nil)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	narrow := own.Within(Policy{Mode: Only, Names: []string{"KEY", "OTHER"}})
	if diff := cmp.Diff([]string{"KEY=k", "PATH=/bin"}, Build(user, narrow, nil)); diff != "" {
		t.Errorf("narrowed environment (-want +got):\n%s", diff)
	}
	if all := (Policy{Mode: Inherit}).And(named); len(all.Names) > 0 {
		t.Errorf("a policy that passes everything on names %q", all.Names)
	}
	if Named([]byte(`{`)) != nil || Named(nil) != nil {
		t.Error("what is no configuration names variables")
	}
}

func TestNamesHoldNoValue(t *testing.T) {
	got := Names([]string{"B=secret", "A=1=2", "B=other"})
	if diff := cmp.Diff([]string{"A", "B"}, got); diff != "" {
		t.Errorf("Names (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "inherit", "minimal", "A,B", "A=1", ",", "inherit,minimal"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(strings.Split(s, ","))
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
