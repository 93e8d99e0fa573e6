package environment

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// U223: two variables set the journal's options; values that are not positive numbers are ignored.
func TestJournalOptions(t *testing.T) {
	log := hclog.NewNullLogger()
	for _, tt := range []struct {
		name    string
		environ []string
		want    journal.Options
	}{
		{"nothing is said", []string{"HOME=/home/ann"}, journal.Options{}},
		{"both", []string{"AGENT_PIPELINES_EVENT_FLUSH_MS=250", "AGENT_PIPELINES_EVENT_BUFFER=7"}, journal.Options{FlushInterval: 250 * time.Millisecond, Buffer: 7}},
		{"no numbers", []string{"AGENT_PIPELINES_EVENT_FLUSH_MS=soon", "AGENT_PIPELINES_EVENT_BUFFER=-1"}, journal.Options{}},
		{"zero", []string{"AGENT_PIPELINES_EVENT_FLUSH_MS=0"}, journal.Options{}},
		{"the last one counts", []string{"AGENT_PIPELINES_EVENT_BUFFER=7", "AGENT_PIPELINES_EVENT_BUFFER=8"}, journal.Options{Buffer: 8}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Logger = log
			got := (&Config{Config: pluginhost.Config{Environ: tt.environ}}).Journal(log)
			testkit.Equal(t, tt.want, got, cmp.Comparer(func(a, b hclog.Logger) bool { return a == b }))
		})
	}
}

func TestVariable(t *testing.T) {
	c := Config{Config: pluginhost.Config{Environ: []string{"A=1", "HOME=/first", "HOME=/last=one", "HOMES=/x"}}}
	testkit.Equal(t, "/last=one", c.Variable("HOME"))
	testkit.Equal(t, "", c.Variable("NONE"))
}

// REQUIREMENTS C4: the project's defaults take precedence over the user's, value by value.
func TestDefaults(t *testing.T) {
	var s Settings
	s.Project.Settings, s.Project.Diagnostics = settings.Parse("p.yaml", []byte("defaults: {delay: 0}\ncommands: {test: p}\n"))
	s.User.Settings, s.User.Diagnostics = settings.Parse("u.yaml", []byte("defaults: {provider: claude, delay: 2.5}\ncommands: {test: u, lint: u}\n"))
	want := compile.Defaults{
		Provider: "claude", File: "u.yaml", At: yamldoc.Pos{Line: 1, Column: 12},
		Delay: new(0.0), Commands: map[string]string{"test": "p", "lint": "u"},
	}
	testkit.Equal(t, want, s.Defaults())
	testkit.Equal(t, nil, s.Diagnostics())
}

// U180: secrets in component settings are redacted like those of the environment; words and variable names
// are not.
func TestSecretsOfTheSettings(t *testing.T) {
	parsed := Settings{}
	parsed.User.Providers = []settings.Provider{{Name: "a", Config: []byte(
		`{"api_key":"k3y-of-mine","auth":"oauth-device","secret_env":"HMAC_OF_MINE","headers":{"Authorization":"Bearer t0ken-of-mine"},"tokens":["list-1-of-mine"],"password":"${PASS_OF_MINE}","endpoint":"http://h1"}`)}}
	r := (&Config{Config: pluginhost.Config{Environ: []string{"A_TOKEN=v4lue-of-mine"}}}).newRedactor(parsed)
	got := r.ForAgent().Text("k3y-of-mine oauth-device HMAC_OF_MINE t0ken-of-mine v4lue-of-mine ${PASS_OF_MINE} http://h1")
	if want := "[REDACTED] oauth-device HMAC_OF_MINE [REDACTED] [REDACTED] ${PASS_OF_MINE} http://h1"; got != want {
		t.Errorf("got %s", got)
	}
}

// U266: project files can only narrow the user's settings.
func TestRestrict(t *testing.T) {
	type policy = plan.Sandbox
	type requests struct {
		user, author *policy
		trusted      bool
	}
	for _, tt := range []struct {
		name     string
		requests requests
		want     policy
		ignored  []string
	}{
		{"no requests", requests{}, policy{}, nil},
		{
			"the author alone may grant",
			requests{author: &policy{Mode: "workspace", Write: []string{"/x"}}},
			policy{Mode: "workspace", Write: []string{"/x"}},
			nil,
		},
		{"an author's none is ignored", requests{author: &policy{Mode: "none"}}, policy{}, nil},
		{"that of a trusted author is not", requests{author: &policy{Mode: "none"}, trusted: true}, policy{Mode: "none"}, nil},
		{"an author's network is ignored", requests{author: &policy{Mode: "workspace", Network: "on"}}, policy{Mode: "workspace"}, nil},
		{"that of a trusted author is not", requests{author: &policy{Network: "on"}, trusted: true}, policy{Mode: "workspace", Network: "on"}, nil},
		{"nor is the user's", requests{user: &policy{Mode: "none"}}, policy{Mode: "none"}, nil},
		{
			"the author cannot weaken",
			requests{user: &policy{Mode: "strict", Network: "off", Processes: 10}, author: &policy{Mode: "workspace", Network: "on", Processes: 100, Memory: 7}},
			policy{Mode: "strict", Network: "off", Processes: 10, Memory: 7},
			nil,
		},
		{
			"the author can narrow",
			requests{user: &policy{Mode: "workspace", Network: "on", CPU: 9}, author: &policy{Mode: "strict", Network: "loopback", CPU: 3}},
			policy{Mode: "strict", Network: "loopback", CPU: 3},
			nil,
		},
		{
			"the author cannot grant beside the user",
			requests{user: &policy{Mode: "workspace", Read: []string{"~/u"}}, author: &policy{Read: []string{"/r"}, Write: []string{"/w"}}},
			policy{Mode: "workspace", Read: []string{"~/u"}},
			[]string{"/r", "/w"},
		},
		{
			"a trusted author can",
			requests{user: &policy{Mode: "workspace", Read: []string{"~/u"}}, author: &policy{Read: []string{"/r"}}, trusted: true},
			policy{Mode: "workspace", Read: []string{"~/u", "/r"}},
			nil,
		},
		{
			"the user requests none, the author more",
			requests{user: &policy{Mode: "none"}, author: &policy{Mode: "strict", Write: []string{"/w"}}},
			policy{Mode: "strict", Write: []string{"/w"}},
			nil,
		},
		{"a request without a mode is for a workspace", requests{user: &policy{Network: "off"}}, policy{Mode: "workspace", Network: "off"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ignored := restrict(tt.requests.user, tt.requests.author, tt.requests.trusted)
			testkit.Equal(t, tt.want, got)
			testkit.Equal(t, tt.ignored, ignored)
		})
	}
}
