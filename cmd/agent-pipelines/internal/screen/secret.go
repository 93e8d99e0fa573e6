package screen

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// foundSecret tells of a secret in a file that an agent wrote.
func foundSecret(at place, e event.Event, d event.SecretFoundData) []string {
	line := "⚠ " + Secret(d) + " (the file is left as it is)"
	if at.node != nil && at.node.HasContract() {
		return as(role(at.node), line)
	}
	return []string{"  " + line}
}

// Secret says where a secret was found, and by what: "docs/a.md:3: a secret (github-token)".
func Secret(d event.SecretFoundData) string {
	if d.Count > 1 {
		return fmt.Sprintf("%s:%d: %d secrets (%s)", Clean(d.Path), d.Line, d.Count, Clean(d.Rule))
	}
	return fmt.Sprintf("%s:%d: a secret (%s)", Clean(d.Path), d.Line, Clean(d.Rule))
}
