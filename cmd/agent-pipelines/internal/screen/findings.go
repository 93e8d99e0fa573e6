package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// lateDelivery reports a late delivery.
func lateDelivery(_ place, d event.LateDeliveryData) []string {
	return []string{"  ⚠ refused, since it came late: " + Late(d)}
}

// Late describes a delivery of an abandoned attempt: "attempt 1, abandoned as iteration_timeout: it reported success".
func Late(d event.LateDeliveryData) string {
	by := "an unknown process"
	if d.Attempt > 0 {
		by = fmt.Sprintf("attempt %d", d.Attempt)
	}
	if d.AbandonReason != "" {
		by += ", abandoned as " + d.AbandonReason
	}
	return by + ": " + delivered(d)
}

func delivered(d event.LateDeliveryData) string {
	switch d.Kind {
	case event.LateResult:
		return "it reported success"
	case event.LateOutput:
		return fmt.Sprintf("%d bytes of output", d.Bytes)
	case event.LateToolCall:
		return fmt.Sprintf("%d tool calls (%s)", d.Count, Clean(strings.Join(d.Tools, ", ")))
	case event.LateFile:
		if d.KeptFile != nil && d.KeptFile.Path != d.Path {
			return fmt.Sprintf("%s, kept as %s", Clean(d.Path), Clean(d.KeptFile.Path))
		}
		return Clean(d.Path)
	default:
		return strings.TrimSpace("the end of abandoned work: " + string(d.Type))
	}
}

// messageRefused reports a message that does not count.
func messageRefused(_ place, d event.MessageRefusedData) []string {
	return []string{"  ⚠ refused a message: " + Refused(d)}
}

// Refused describes a message that does not count, with the next step.
func Refused(d event.MessageRefusedData) string {
	if d.Remedy == "" {
		return Clean(d.Reason)
	}
	return Clean(d.Reason) + "; " + Clean(d.Remedy)
}

// Unmeasured says that a run measured nothing, because these checks have no command; "" if there are none.
func Unmeasured(checks []string) string {
	if len(checks) == 0 {
		return ""
	}
	return "nothing: no command for " + Clean(strings.Join(checks, ", ")) + "; name it under commands: in .claude/config.yaml, or with --command test='...'"
}

// kernelStarted says once per kernel which sandboxes are in force, and whether answers are protected.
func kernelStarted(at place, d event.KernelStartData) []string {
	var lines []string
	for _, provider := range slices.Sorted(maps.Keys(d.Sandboxes)) {
		line := fmt.Sprintf("  · Sandbox of %s: %s", provider, d.Sandboxes[provider])
		if d.Sandboxes[provider] == string(plan.SandboxNone) {
			line = fmt.Sprintf("  ⚠ No sandbox: %s executes what a model asks for with your rights.", provider)
		}
		lines = append(lines, line)
	}
	if d.Unprotected {
		lines = append(lines, "  ⚠ Without a sandbox, an agent can read your key and answer for you (--sandbox workspace prevents it).")
	}
	if len(lines) == 0 && at.verbose {
		return []string{"  · " + Details(*at.Event)}
	}
	return lines
}

// secretFound reports a secret in a file that an agent wrote.
func secretFound(at place, d event.SecretFoundData) []string {
	line := "⚠ " + Secret(d) + " (the file is left as it is)"
	if at.node != nil && at.node.HasContract() {
		return withRole(role(at.node), line)
	}
	return []string{"  " + line}
}

// Secret describes the place and the rule of a found secret: "docs/a.md:3: a secret (github-token)".
func Secret(d event.SecretFoundData) string {
	if d.Count > 1 {
		return fmt.Sprintf("%s:%d: %d secrets (%s)", Clean(d.Path), d.Line, d.Count, Clean(d.Rule))
	}
	return fmt.Sprintf("%s:%d: a secret (%s)", Clean(d.Path), d.Line, Clean(d.Rule))
}
