package sandboxpolicy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
		return NamespaceHint() + "; or use sandbox workspace"
	case strings.Contains(message, "Unknown option"):
		return "install bubblewrap 0.5 or newer"
	case strings.Contains(message, "No such file"):
		return "a path of the sandbox no longer exists"
	}
	return "run bwrap by hand to see whether it works here, or use sandbox workspace"
}

// NoLoopback begins the member of [Capabilities.Missing] about tools without a loopback interface.
const NoLoopback = "tools have no loopback interface"

// NamespaceHint returns a hint that makes this system allow user namespaces, with the setting that forbids them. Sources:
// the kernel's documentation of sysctl, Ubuntu's of AppArmor, and Docker's of its seccomp profile.
func NamespaceHint() string {
	for _, setting := range []struct {
		name, forbids, allows string
		privileged            bool // it holds for root, too
	}{
		{"user.max_user_namespaces", "0", "10000", true},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0", false},
		{"kernel.unprivileged_userns_clone", "0", "1", false},
	} {
		value, err := os.ReadFile(filepath.Join("/proc/sys", strings.ReplaceAll(setting.name, ".", "/")))
		if err == nil && strings.TrimSpace(string(value)) == setting.forbids && (setting.privileged || os.Geteuid() != 0) {
			return fmt.Sprintf("allow user namespaces: sudo sysctl %s=%s", setting.name, setting.allows)
		}
	}
	return "allow user namespaces; start a container with: --security-opt seccomp=unconfined"
}
