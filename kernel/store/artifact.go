package store

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// ArtifactFiles returns the file of a node's artifact in one visit, and newest, the file of the artifact of its last
// visit. NN is the node's position. Inside embedded pipelines the positions of the nodes around it come first:
//
//	artifacts/NN-[NN-…]<id>.v<visit>.yaml    artifacts/NN-[NN-…]<id>.yaml
//
// From the second run of the pipeline on, the first name ends in .r<run>.v<visit>.yaml. In a parallel block
// the provider comes before the id. The error says that the plan has no such node.
func ArtifactFiles(p *plan.Plan, loc event.Location) (visit, newest string, err error) {
	name, err := artifactName(p, loc)
	return name + visitSuffix(loc), name + ".yaml", err
}

// InputArtifact is the file of the artifact that a run begins with.
const InputArtifact = ArtifactsDir + "/input.yaml"

// InitialArtifact returns the file of an artifact that was supplied for a node, as if from visit 0:
// artifacts/NN-<id>.v0.yaml. newest is as in [ArtifactFiles].
func InitialArtifact(p *plan.Plan, path string) (artifact, newest string, err error) {
	name, err := artifactName(p, event.Location{Node: path})
	return name + ".v0.yaml", name + ".yaml", err
}

// EmbeddedInput returns the file of the input artifact of the pipeline that a node embeds:
// artifacts/NN-[NN-…]<id>.input.v<visit>.yaml.
func EmbeddedInput(p *plan.Plan, loc event.Location) (string, error) {
	name, err := artifactName(p, loc)
	return name + ".input" + visitSuffix(loc), err
}

// artifactName returns the common beginning of the file names of a node's artifacts.
func artifactName(p *plan.Plan, loc event.Location) (string, error) {
	n := p.Find(loc.Node)
	if n == nil {
		return "", fmt.Errorf("the plan has no node %q", loc.Node)
	}
	name := nodePositions(loc.Node) + "-"
	if loc.Branch != "" {
		name += pathElement(loc.Branch) + "-"
	}
	return path.Join(ArtifactsDir, name+pathElement(n.ID)), nil
}

// visitSuffix returns the end of an artifact's file name: run and visit.
func visitSuffix(loc event.Location) string {
	run := ""
	if loc.Run > 1 {
		run = fmt.Sprintf(".r%d", loc.Run)
	}
	return fmt.Sprintf("%s.v%d.yaml", run, max(loc.Visit, 1))
}

// nodePositions returns the positions of a path with at least two digits each, joined by dashes.
func nodePositions(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		parts[i] = strings.Repeat("0", max(0, 2-len(p))) + p
	}
	return strings.Join(parts, "-")
}

// OutputPath returns the name in the project of a node's output_path, "" without one. Each provider of a parallel
// block has its own copy, because providers would overwrite each other's file.
func OutputPath(p *plan.Plan, n *plan.Node, session string, loc event.Location) string {
	name := strings.NewReplacer("${SESSION}", session, "${SESSION_NAME}", session).Replace(n.OutputPath)
	scope, err := ProviderAt(p, loc)
	if name == "" || loc.Branch == "" || err != nil {
		return name
	}
	return path.Join(RunsDir, session, string(scope), path.Clean("/"+filepath.ToSlash(name)))
}
