package approval

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// ProtectedPath is what no policy lets an agent touch.
type ProtectedPath struct {
	Pattern string // a glob, matched whatever the case of letters: some file systems do not tell them apart
	Reads   bool   // it may not be read either
	Why     string
}

const (
	ofRepository = "hooks and settings in it run with the next git command"
	ofEngine     = "sessions, pipelines and settings of this program and of agents"
	ofSecrets    = "secrets lie there"
	ofAccounts   = "credentials of a program lie there"
	ofKeys       = "private keys"
)

// Protected are the paths that are always protected: those of REQUIREMENTS C5 that can lie in a workspace, at any
// depth, and what makes a later command do what nobody asked for.
var Protected = []ProtectedPath{
	{"**/.git/**", false, ofRepository},
	{".claude/**", false, ofEngine},

	{"**/.env", true, ofSecrets},
	{"**/.env.*", true, ofSecrets},
	{"**/secrets/**", true, ofSecrets},
	{"**/private/**", true, ofSecrets},

	{"**/*.pem", true, ofKeys},
	{"**/*.key", true, ofKeys},
	{"**/*.p12", true, ofKeys},
	{"**/*.pfx", true, ofKeys},
	{"**/*.jks", true, ofKeys},

	{"**/.ssh/**", true, ofAccounts},
	{"**/.gnupg/**", true, ofAccounts},
	{"**/.aws/**", true, ofAccounts},
	{"**/.azure/**", true, ofAccounts},
	{"**/.gcloud/**", true, ofAccounts},
	{"**/.config/gcloud/**", true, ofAccounts},
	{"**/.config/gh/hosts.yml", true, ofAccounts},
	{"**/.kube/**", true, ofAccounts},
	{"**/.docker/config.json", true, ofAccounts},
	{"**/.netrc", true, ofAccounts},
	{"**/.npmrc", true, ofAccounts},
	{"**/.pypirc", true, ofAccounts},
	{"**/.nuget/**", true, ofAccounts},
	{"**/.cargo/credentials", true, ofAccounts},
	{"**/.cargo/credentials.toml", true, ofAccounts},
	{"**/.m2/settings.xml", true, ofAccounts},
	{"**/.gradle/gradle.properties", true, ofAccounts},
	{"**/.git-credentials", true, ofAccounts},
	{"**/.gitconfig", true, ofAccounts},
	{"**/.pgpass", true, ofAccounts},
	{"**/.my.cnf", true, ofAccounts},
}

// guard rules on a path by what no policy can change; false where the policy decides. Where there is no policy, an
// agent with tools of its own authority may work outside the project, as far as its sandbox lets it.
func (s Context) guard(p *plan.Approvals, category sdk.Category, name string) (Decision, bool) {
	reads := category == sdk.CategoryFileRead
	switch {
	case category != sdk.CategoryFileDelete && s.among(s.Reports, name), reads && s.among(s.Given, name):
		return Decision{Approval: plan.ApprovalAuto, Rule: RuleReport}, true
	case p != nil && leads(name):
		reason := fmt.Sprintf("%s: %s is outside the workspace", failure.SandboxViolation.Code(), event.Truncate(name, event.MaxName))
		return Decision{plan.ApprovalDeny, reason, RuleWorkspace}, true
	}
	why := protected(p, category, cleaned(name))
	if why == "" {
		return Decision{}, false
	}
	reason := fmt.Sprintf("%s is protected (%s): no policy and no person can allow it", event.Truncate(name, event.MaxName), why)
	return Decision{plan.ApprovalDeny, reason, RuleProtected}, true
}

// among reports whether a path is one of several, or lies in one that is a directory.
func (s Context) among(known []string, name string) bool {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Project, name)
	}
	name = filepath.Clean(name)
	return slices.ContainsFunc(known, func(k string) bool {
		return k != "" && (name == filepath.Clean(k) || strings.HasPrefix(name, filepath.Clean(k)+string(filepath.Separator)))
	})
}

var drive = regexp.MustCompile(`^[A-Za-z]:`)

// leads reports whether a path leads out of the workspace, on any system. Providers are to have looked already, through
// links, too.
func leads(name string) bool {
	slashed := strings.ReplaceAll(name, `\`, "/")
	return name == "" || strings.ContainsRune(name, 0) || drive.MatchString(name) || !filepath.IsLocal(path.Clean(slashed)) || path.IsAbs(slashed)
}

// cleaned is a path as patterns are matched against it.
func cleaned(name string) string { return path.Clean(name) }

// protected says why a path may not be touched, "" if it may.
func protected(p *plan.Approvals, category sdk.Category, name string) string {
	reads := category == sdk.CategoryFileRead
	if name == "." && (category == sdk.CategoryFileWrite || category == sdk.CategoryFileDelete) {
		return "the workspace itself"
	}
	folded := strings.ToLower(name)
	for _, known := range Protected {
		if found, _ := doublestar.Match(known.Pattern, folded); found && (known.Reads || !reads) {
			return known.Why
		}
	}
	if p == nil || reads {
		return ""
	}
	for _, pattern := range p.Protected {
		if found, err := doublestar.Match(strings.ToLower(pattern), folded); found || err != nil {
			return "by policy.approvals.protected: " + event.Truncate(pattern, event.MaxName)
		}
	}
	return ""
}
