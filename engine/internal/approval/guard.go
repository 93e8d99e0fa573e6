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

// ProtectedPath is a pattern of paths that no policy lets an agent touch.
type ProtectedPath struct {
	Pattern string // a glob, matched without regard to case: some file systems ignore case
	Reads   bool   // reading is denied as well
	Why     string
}

const (
	reasonRepository = "hooks and settings in it run with the next git command, and addresses in it may hold credentials"
	reasonEngine     = "sessions, pipelines and settings of this program and of agents"
	reasonSecrets    = "it may hold secrets"
	reasonAccounts   = "it may hold a program's credentials"
	reasonKeys       = "private keys"
)

// Protected are the paths that are always protected, at any depth of a workspace: those of REQUIREMENTS C5, and files
// that change the effect of later commands.
var Protected = []ProtectedPath{
	{"**/.git/**", true, reasonRepository},
	{".claude/**", false, reasonEngine},

	{"**/.env", true, reasonSecrets},
	{"**/.env.*", true, reasonSecrets},
	{"**/secrets/**", true, reasonSecrets},
	{"**/private/**", true, reasonSecrets},

	{"**/*.pem", true, reasonKeys},
	{"**/*.key", true, reasonKeys},
	{"**/*.p12", true, reasonKeys},
	{"**/*.pfx", true, reasonKeys},
	{"**/*.jks", true, reasonKeys},

	{"**/.ssh/**", true, reasonAccounts},
	{"**/.gnupg/**", true, reasonAccounts},
	{"**/.aws/**", true, reasonAccounts},
	{"**/.azure/**", true, reasonAccounts},
	{"**/.gcloud/**", true, reasonAccounts},
	{"**/.config/gcloud/**", true, reasonAccounts},
	{"**/.config/gh/hosts.yml", true, reasonAccounts},
	{"**/.kube/**", true, reasonAccounts},
	{"**/.docker/config.json", true, reasonAccounts},
	{"**/.dockercfg", true, reasonAccounts},
	{"**/.netrc", true, reasonAccounts},
	{"**/_netrc", true, reasonAccounts},
	{"**/.npmrc", true, reasonAccounts},
	{"**/.pypirc", true, reasonAccounts},
	{"**/.nuget/**", true, reasonAccounts},
	{"**/.cargo/credentials", true, reasonAccounts},
	{"**/.cargo/credentials.toml", true, reasonAccounts},
	{"**/.m2/settings.xml", true, reasonAccounts},
	{"**/.gradle/gradle.properties", true, reasonAccounts},
	{"**/.git-credentials", true, reasonAccounts},
	{"**/.gitconfig", true, reasonAccounts},
	{"**/.pgpass", true, reasonAccounts},
	{"**/.my.cnf", true, reasonAccounts},
}

// guard decides on a path by the rules that no policy can change. It returns false if the policy decides. Without a
// policy an agent with its own tools may work outside the project, within its sandbox.
func (s Context) guard(p *plan.Approvals, category sdk.Category, name string) (Decision, bool) {
	reads := category == sdk.CategoryFileRead
	switch {
	case category != sdk.CategoryFileDelete && s.among(s.Reports, name), reads && s.among(s.Inputs, name):
		return Decision{Approval: plan.ApprovalAuto, Rule: RuleReport}, true
	case p != nil && leads(name):
		reason := fmt.Sprintf("%s: %s is outside the workspace", failure.SandboxViolation.Code(), event.Truncate(name, event.MaxName))
		return Decision{plan.ApprovalDeny, reason, RuleWorkspace}, true
	}
	why := protected(p, category, path.Clean(name))
	if why == "" {
		return Decision{}, false
	}
	reason := fmt.Sprintf("%s is protected (%s): no policy and no user can allow it", event.Truncate(name, event.MaxName), why)
	return Decision{plan.ApprovalDeny, reason, RuleProtected}, true
}

// among reports whether a path is in a list, or in a directory of the list.
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

// leads reports whether a path leads out of the workspace, on any system. Providers must have resolved links before.
func leads(name string) bool {
	slashed := strings.ReplaceAll(name, `\`, "/")
	return name == "" || strings.ContainsRune(name, 0) || drive.MatchString(name) || !filepath.IsLocal(path.Clean(slashed)) || path.IsAbs(slashed)
}

// protected returns the reason why a path may not be touched, "" if it may be touched.
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
