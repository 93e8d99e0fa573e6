package sandboxpolicy

import (
	"encoding/json"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// StartErrorPrefix begins the line on stderr with which a process reports why it could not confine itself or execute
// the program.
const StartErrorPrefix = "sandbox-start-error: "

// bwrapPrefix begins the error lines of bubblewrap.
const bwrapPrefix = "bwrap: "

// StartError is the reason why a sandboxed process did not become the program.
type StartError struct {
	// Text is the error message.
	Text string `json:"text"`
	// Exec means that the sandbox works, but the program cannot be executed because of Errno.
	Exec  bool          `json:"exec,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
}

// FindStartError finds a StartError in the stderr of a process that ended before it did anything. A program can
// write the same line; it gains nothing by that.
func FindStartError(stderr string) (StartError, bool) {
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(line, StartErrorPrefix); ok {
			var t StartError
			if json.Unmarshal([]byte(text), &t) == nil && t.Text != "" {
				return t, true
			}
		}
		if strings.HasPrefix(line, bwrapPrefix) {
			return StartError{Text: strings.TrimSpace(line)}, true
		}
	}
	return StartError{}, false
}

// Failure returns the failure of a start that ended in the StartError.
func (t StartError) Failure(b Policy) *failure.Error {
	f := failure.New(failure.SandboxUnavailable, "sandbox %s is not available: %s", b.Mode, t.Text)
	if strings.HasPrefix(t.Text, bwrapPrefix) {
		return f.WithHint("%s", bwrapHint(t.Text))
	}
	return f.WithHint("relax policy.sandbox, or use the other mode")
}

// Line returns the line that [FindStartError] reads.
func (t StartError) Line() string {
	b, _ := json.Marshal(t) // strings and numbers always encode
	return StartErrorPrefix + string(b) + "\n"
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
