package rundir

import (
	"fmt"
	"path"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Artifact is the file of the artifact that a node makes in a visit, and newest that of its last one. NN is the
// position of the node, in embedded pipelines with those of the nodes around it:
//
//	artifacts/NN-[NN-…]<id>.v<visit>.yaml    artifacts/NN-[NN-…]<id>.yaml
//
// From the second run of an embedded pipeline, or of the whole, on a file says the run as well: .r<run>.v<visit>; in a
// parallel block the provider comes before the id. An error means that the plan has no such node.
func Artifact(p *plan.Plan, at event.Place) (visit, newest string, err error) {
	n := p.Find(at.Node)
	if n == nil {
		return "", "", fmt.Errorf("the plan has no node %q", at.Node)
	}
	name := positions(at.Node) + "-"
	if at.Branch != "" {
		name += element(at.Branch) + "-"
	}
	name = path.Join(ArtifactsDir, name+element(n.ID))
	visit = name
	if at.Run > 1 {
		visit += fmt.Sprintf(".r%d", at.Run)
	}
	return fmt.Sprintf("%s.v%d.yaml", visit, max(at.Visit, 1)), name + ".yaml", nil
}

// positions are those of a path with two digits each, joined by dashes.
func positions(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		parts[i] = strings.Repeat("0", max(0, 2-len(p))) + p
	}
	return strings.Join(parts, "-")
}
