package screen

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// aboutArtifact tells what is wrong with an artifact, that it is healed, or what is odd about one that a node is given.
func aboutArtifact(e event.Event) []string {
	switch e.Type {
	case event.ArtifactInvalid:
		d, err := event.Decode[event.ArtifactInvalidData](e)
		if err != nil {
			return nil
		}
		lines := []string{"✗ The artifact is not what the contract says:"}
		for _, f := range d.Faults {
			lines = append(lines, fmt.Sprintf("  %s: %s: %s", Clean(f.Path), Clean(f.Code), Clean(f.Message)))
		}
		return lines
	case event.ArtifactHealed:
		d, err := event.Decode[event.ArtifactHealedData](e)
		if err != nil {
			return nil
		}
		return []string{fmt.Sprintf("✓ The artifact is healed, after %s", count(d.After, "heal"))}
	default:
		d, err := event.Decode[event.ArtifactWarningData](e)
		if err != nil {
			return nil
		}
		return []string{"⚠ " + Clean(d.Message)}
	}
}
