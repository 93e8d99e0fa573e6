package screen

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func blockHead(n *plan.Node) []string {
	stages := make([]string, len(n.Stages))
	for i := range n.Stages {
		stages[i] = n.Stages[i].ID
	}
	lines := []string{"Parallel Block: " + n.ID}
	if n.Description != "" {
		lines = append(lines, n.Description)
	}
	return append(nodeBox(append(lines, "Providers: "+strings.Join(branches(n), " "), "Stages: "+strings.Join(stages, " "))...), "")
}

// branches returns the ids of a block's providers.
func branches(n *plan.Node) []string {
	ids := make([]string, len(n.Providers))
	for i := range n.Providers {
		ids[i] = n.Providers[i].ID()
	}
	return ids
}

func providerEnded(at place, d event.ProviderCompleteData) []string {
	if d.Status == string(state.NodeFailed) {
		return []string{fmt.Sprintf("  ✗ %s failed", at.branch())}
	}
	return []string{fmt.Sprintf("  ✓ %s complete", at.branch())}
}

// blockIteration returns the first line of an iteration, with the provider's id, because providers work in parallel.
func blockIteration(at place) []string {
	stage := at.stage()
	if stage == nil {
		return nil
	}
	text := fmt.Sprintf("    %s: %s, iteration %d", at.branch(), stage.ID, at.Event.Cursor.Iteration)
	if limit := stage.Termination.Max(); limit > 0 {
		text += fmt.Sprintf("/%d", limit)
	}
	return []string{text + "..."}
}

func blockEnd(at place) []string {
	ns := at.State.Nodes[at.Event.Cursor.NodePath]
	if ns.Status != state.NodeFailed {
		name := filepath.Join(at.Dir, filepath.FromSlash(ns.Artifacts[event.Manifest].Path))
		return []string{"", "  Parallel block complete. Manifest written to " + name, ""}
	}
	var failed []string
	for _, id := range branches(at.node) {
		if ns.Branches[id].Status == state.NodeFailed {
			failed = append(failed, id)
		}
	}
	return []string{"", "  Parallel block failed. Failed providers: " + strings.Join(failed, ", "), ""}
}

// resumedBlock lists the providers that a resumed session continues, and the completed providers.
func resumedBlock(at place, n *plan.Node) []string {
	var on, done []string
	for _, id := range branches(n) {
		if at.State.Nodes[n.Path].Branches[id].Status == state.NodeComplete {
			done = append(done, fmt.Sprintf("  ✓ %s complete", id))
		} else {
			on = append(on, id)
		}
	}
	head := fmt.Sprintf("Resuming session '%s' from stage %s", at.Session, n.ID)
	if len(on) > 0 {
		head += ": " + strings.Join(on, ", ")
	}
	return append([]string{head + inRun(at)}, done...)
}
