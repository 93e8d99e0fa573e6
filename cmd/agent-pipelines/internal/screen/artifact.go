package screen

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// The events artifact_invalid, artifact_healed and artifact_warning have the same content for readers of the journal.

// faultLines lists the faults of an attempt's artifact, nil for another failure.
func faultLines(at place, d event.FailureData) []string {
	if len(d.Faults) == 0 || at.Event.Key.Kind() != event.KeySettle {
		return nil
	}
	lines := []string{"✗ The artifact is not what the contract says:"}
	for _, f := range d.Faults {
		lines = append(lines, fmt.Sprintf("  %s: %s: %s", Clean(f.Path), Clean(f.Code), Clean(f.Message)))
	}
	return lines
}

// inputWarnings lists the warnings about a node's input artifact.
func inputWarnings(_ place, d event.InputCheckedData) []string {
	var lines []string
	for _, warning := range d.Warnings {
		lines = append(lines, "⚠ "+Clean(warning))
	}
	return lines
}
