package approval_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/approval"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// open is a policy that allows every call, except on its two protected patterns.
var open = &plan.Approvals{Default: "auto", Rules: []plan.ApprovalRule{{Policy: "auto"}}, Protected: []string{"go.mod", "**/gen/**"}}

// C5: paths are protected under every policy, and without a policy.
func TestProtected(t *testing.T) {
	reads := []string{
		"a.go", ".claude/x", ".github/x", "environment", "env/x", "a.pem.txt", "keys/x", "privateer/x", "gen/x", "go.mod", ".envrc",
	}
	writes := []string{"a.go", ".github/x", "environment", "a.pem.txt", "sub/.claude/x", "sub/go.mod", "gitx/.gitignore", "src/genx/a"}
	neither := []string{
		".env", "sub/.env", ".env.local", ".ENV", "a/b/.env.production", "server.pem", "certs/a.key", "a.p12", "a.pfx", "a.jks",
		".ssh/id_ed25519", ".ssh", "home/.aws/credentials", ".netrc", ".npmrc", ".git-credentials", "_netrc", ".dockercfg", ".git/config", ".git", "vendor/x/.git/hooks/pre-commit", ".GIT/hooks/x", ".pypirc", ".pgpass", ".my.cnf",
		"secrets/a", "x/secrets/a", "private/a", "x/private", ".kube/config", ".docker/config.json", ".config/gh/hosts.yml", ".gitconfig",
		"./sub/../.env", ".azure/x", ".gcloud/x", ".config/gcloud/x", ".nuget/x", ".cargo/credentials", ".cargo/credentials.toml",
		".m2/settings.xml", ".gradle/gradle.properties", ".gnupg/x",
	}
	onlyRead := []string{".claude/settings.json", ".claude", "go.mod", "GO.MOD", "a/gen/x", "."}
	check := func(t *testing.T, p *plan.Approvals, c sdk.ToolCall, want plan.Approval, rule string) {
		t.Helper()
		r := approval.Decide(p, c, approval.Context{Project: "/p", Person: true})
		if r.Approval != want || rule != "" && r.Rule != rule || want == "deny" && r.Reason == "" {
			t.Errorf("%s %s %q: %+v", c.Category, c.Paths, c.Command, r)
		}
	}
	for _, p := range []*plan.Approvals{nil, open} {
		for _, path := range reads {
			check(t, p, on("file_read", path), "auto", "")
		}
		for _, path := range writes {
			check(t, p, on("file_write", path), "auto", "")
		}
		for _, path := range neither {
			check(t, p, on("file_read", path), "deny", "protected")
			check(t, p, on("file_write", "a", path), "deny", "protected")
		}
		check(t, p, command("git status"), "auto", "")
		check(t, p, command("cat .env", ".env"), "deny", "protected")
		check(t, p, command("make", "."), "auto", "")
	}
	for _, path := range onlyRead {
		for _, c := range []sdk.Category{"file_write", "file_delete"} {
			check(t, open, on(c, path), "deny", "protected")
		}
		check(t, open, on("file_read", path), "auto", "")
		if path != "." {
			check(t, open, on("directory_create", path), "deny", "protected")
			check(t, open, on("", path), "deny", "protected")
		}
	}
	// An invalid glob, which the compiler refuses, protects everything.
	check(t, &plan.Approvals{Default: "auto", Protected: []string{"a["}}, on("file_write", "a.go"), "deny", "protected")
	for _, known := range approval.Protected {
		if known.Why == "" || known.Pattern != strings.ToLower(known.Pattern) {
			t.Errorf("%+v: without a reason, or never matched", known)
		}
	}
}

// U172, D7: the engine denies a path that leads out of the workspace under every policy. Without a policy, an agent
// is limited by its tools and its sandbox.
func TestOutside(t *testing.T) {
	out := []string{
		"/etc/passwd", "../../../etc/passwd", `..\..\windows`, `C:\Windows\System32`, "c:x", "..", "a/../../x", "", "a\x00b", `\\host\share`, "/p/a.go", `a\..\..\b`,
	}
	for _, path := range out {
		if r := approval.Decide(nil, on("file_read", path), approval.Context{Project: "/p"}); r.Approval != plan.ApprovalAuto {
			t.Errorf("%q without a policy: %+v", path, r)
		}
		for _, p := range []*plan.Approvals{{}, open} {
			for _, c := range append(sdk.Categories(), "") {
				r := approval.Decide(p, on(c, "a.go", path), approval.Context{Project: "/p", Person: true})
				if r.Approval != "deny" || r.Rule != "workspace" || !strings.Contains(r.Reason, "ACODE-EXEC-004") || !strings.Contains(r.Reason, "outside the workspace") {
					t.Errorf("%s %q: %+v", c, path, r)
				}
			}
		}
	}
	for _, path := range []string{"./src/f", "subdir/../f", "..a", "a..b/c", `a\b`, "C/x", "."} {
		if r := approval.Decide(nil, on("file_read", path), approval.Context{Project: "/p"}); r.Approval != "auto" {
			t.Errorf("%q: %+v", path, r)
		}
	}
}

// An attempt may always write its own report files, and no others.
func TestReports(t *testing.T) {
	scene := approval.Context{
		Project: "/srv/p", Person: true, Inputs: []string{"/srv/p/.claude/run/context.json"},
		Reports: []string{"/srv/p/.claude/run/result.json", "", "/var/run/status.json", "/srv/p/.claude/run/attempts/01"},
	}
	strict := &plan.Approvals{Default: "deny", Protected: []string{".claude/**"}}
	for _, tt := range []struct {
		call sdk.ToolCall
		rule string
	}{
		{on("file_write", ".claude/run/result.json"), "report"},
		{on("file_write", ".claude/x/../run/result.json"), "report"},
		{on("file_read", "/srv/p/.claude/run/result.json"), "report"},
		{on("file_write", "/var/run/status.json"), "report"},
		{on("file_write", ".claude/run/attempts/01/blob"), "report"},
		{on("file_read", ".claude/run/context.json"), "report"},
		{on("file_write", ".claude/run/context.json"), "protected"},
		{on("file_delete", ".claude/run/result.json"), "protected"},
		{on("file_write", ".claude/run/result.jsonx"), "protected"},
		{on("file_write", ".claude/run/attempts/02/blob"), "protected"},
		{on("file_write", "/srv/p2/.claude/run/result.json"), "workspace"},
		{on("file_read", "/var/run/other.json"), "workspace"},
		{on("file_write", ".claude/run/result.json", "a.go"), "default"},
		{on("file_read", "."), "default"},
	} {
		r := approval.Decide(strict, tt.call, scene)
		if r.Rule != tt.rule || (r.Approval == "auto") != (tt.rule == "report") {
			t.Errorf("%s %q: %+v, want %s", tt.call.Category, tt.call.Paths, r, tt.rule)
		}
	}
}
