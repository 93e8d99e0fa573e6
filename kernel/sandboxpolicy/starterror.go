package sandboxpolicy

import (
	"encoding/json"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// bwrapPrefix begins the error lines of bubblewrap.
const bwrapPrefix = "bwrap: "

// FindStartError finds a [confine.StartError] in the stderr of a process that ended before it did anything. A program can
// write the same line; it gains nothing by that.
func FindStartError(stderr string) (confine.StartError, bool) {
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(line, confine.StartErrorPrefix); ok {
			var t confine.StartError
			if json.Unmarshal([]byte(text), &t) == nil && t.Text != "" {
				return t, true
			}
		}
		if strings.HasPrefix(line, bwrapPrefix) {
			return confine.StartError{Text: strings.TrimSpace(line)}, true
		}
	}
	return confine.StartError{}, false
}

// StartFailure returns the failure of a start under the policy that ended in t.
func (p Policy) StartFailure(t confine.StartError) *failure.Error {
	f := failure.New(failure.SandboxUnavailable, "sandbox %s is not available: %s", p.Mode, t.Text)
	if strings.HasPrefix(t.Text, bwrapPrefix) {
		return f.WithHint("%s", bwrapHint(t.Text))
	}
	return f.WithHint("relax policy.sandbox, or use the other mode")
}

// bwrapHint returns the hint for an error message of bubblewrap.
func bwrapHint(message string) string {
	switch {
	case strings.Contains(message, "setting up uid map") || strings.Contains(message, "No permissions to create") ||
		strings.Contains(message, "Operation not permitted") || strings.Contains(message, "RTM_NEWADDR"):
		return "this system forbids user namespaces (in a container, or by AppArmor: sysctl kernel.apparmor_restrict_unprivileged_userns, " +
			"kernel.unprivileged_userns_clone, user.max_user_namespaces); allow them for bwrap, or use sandbox workspace"
	case strings.Contains(message, "Unknown option"):
		return "install bubblewrap 0.5 or newer"
	case strings.Contains(message, "No such file"):
		return "a path of the sandbox no longer exists"
	}
	return "run bwrap by hand to see whether it works here, or use sandbox workspace"
}
