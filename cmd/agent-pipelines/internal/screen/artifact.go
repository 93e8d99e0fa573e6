package screen

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// The events artifact_invalid, artifact_healed and artifact_warning say the same for readers of the journal.

// faultLines tell what is wrong with the artifact that an attempt left, nil for a failure of another kind.
func faultLines(e event.Event, d event.FailureData) []string {
	if len(d.Faults) == 0 || e.Key.Kind() != event.KeySettle {
		return nil
	}
	lines := []string{"✗ The artifact is not what the contract says:"}
	for _, f := range d.Faults {
		lines = append(lines, fmt.Sprintf("  %s: %s: %s", Clean(f.Path), Clean(f.Code), Clean(f.Message)))
	}
	return lines
}

// artifactRepaired tells that the artifact is what the contract says after all, nil where it was so at once.
func artifactRepaired(d event.IterationCompleteData) []string {
	if d.ArtifactRetries == 0 {
		return nil
	}
	return []string{"✓ The artifact is healed, after " + Plural(d.ArtifactRetries, "heal")}
}

// inputWarnings are what is odd about the artifact that a node is given.
func inputWarnings(_ place, e event.Event, d event.InputCheckedData) []string {
	var lines []string
	for _, warning := range d.Warnings {
		lines = append(lines, "⚠ "+Clean(warning))
	}
	return lines
}
