package store

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
func Artifact(p *plan.Plan, at event.Location) (visit, newest string, err error) {
	name, err := artifactName(p, at)
	return name + visitSuffix(at), name + ".yaml", err
}

// StartArtifact is the file of the artifact that a run begins with.
const StartArtifact = ArtifactsDir + "/input.yaml"

// GivenArtifact is the file of an artifact that the run was given in the place of the node's at path, as if it were from
// a visit before the first: artifacts/NN-<id>.v0.yaml; and newest, as in [Artifact].
func GivenArtifact(p *plan.Plan, path string) (given, newest string, err error) {
	name, err := artifactName(p, event.Location{Node: path})
	return name + ".v0.yaml", name + ".yaml", err
}

// EmbeddedInput is the file of the artifact that a pipeline begins with which the node at the place embeds:
// artifacts/NN-[NN-…]<id>.input.v<visit>.yaml.
func EmbeddedInput(p *plan.Plan, at event.Location) (string, error) {
	name, err := artifactName(p, at)
	return name + ".input" + visitSuffix(at), err
}

// artifactName is what the names of the files of a node's artifacts begin with.
func artifactName(p *plan.Plan, at event.Location) (string, error) {
	n := p.Find(at.Node)
	if n == nil {
		return "", fmt.Errorf("the plan has no node %q", at.Node)
	}
	name := nodePositions(at.Node) + "-"
	if at.Branch != "" {
		name += pathElement(at.Branch) + "-"
	}
	return path.Join(ArtifactsDir, name+pathElement(n.ID)), nil
}

// visitSuffix is what they end with.
func visitSuffix(at event.Location) string {
	run := ""
	if at.Run > 1 {
		run = fmt.Sprintf(".r%d", at.Run)
	}
	return fmt.Sprintf("%s.v%d.yaml", run, max(at.Visit, 1))
}

// nodePositions are those of a path with two digits each, joined by dashes.
func nodePositions(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		parts[i] = strings.Repeat("0", max(0, 2-len(p))) + p
	}
	return strings.Join(parts, "-")
}
