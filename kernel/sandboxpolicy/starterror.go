package sandboxpolicy

import (
	"encoding/json"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// StartErrorPrefix begins the line on stderr with which a process says why it could not confine itself.
const StartErrorPrefix = "agent-pipelines-sandbox: "

// bwrapPrefix begins the lines of bubblewrap.
const bwrapPrefix = "bwrap: "

// StartError is why a process in a box never became the program.
type StartError struct {
	// Text says what could not be done and why.
	Text string `json:"text"`
	// Exec: the box is there, and the program cannot be executed for the reason Errno.
	Exec  bool          `json:"exec,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
}

// FindStartError looks for a StartError in what a process that ended before it did anything wrote to stderr. A
// program can write the same words; they say nothing that it could not do otherwise.
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

// Failure is the failure of a start that ended in the StartError.
func (t StartError) Failure(b Policy) *failure.Error {
	f := failure.New(failure.SandboxUnavailable, "sandbox %s cannot be had: %s", b.Mode, t.Text)
	if strings.HasPrefix(t.Text, bwrapPrefix) {
		return f.WithHint("%s", bwrapHint(t.Text))
	}
	return f.WithHint("ask for less in policy.sandbox, or for the other mode")
}

// Line is the StartError as [FindStartError] reads it.
func (t StartError) Line() string {
	b, _ := json.Marshal(t) // texts and numbers
	return StartErrorPrefix + string(b) + "\n"
}

// bwrapHint is the remedy for what bubblewrap says.
func bwrapHint(says string) string {
	switch {
	case strings.Contains(says, "setting up uid map") || strings.Contains(says, "No permissions to create") ||
		strings.Contains(says, "Operation not permitted") || strings.Contains(says, "RTM_NEWADDR"):
		return "this system forbids user namespaces (in a container, or by AppArmor: sysctl kernel.apparmor_restrict_unprivileged_userns, " +
			"kernel.unprivileged_userns_clone, user.max_user_namespaces); allow them for bwrap, or use sandbox workspace"
	case strings.Contains(says, "Unknown option"):
		return "install bubblewrap 0.5 or newer"
	case strings.Contains(says, "No such file"):
		return "a path that the sandbox is to show does not exist any more"
	}
	return "run bwrap by hand to see whether it works here, or use sandbox workspace"
}
