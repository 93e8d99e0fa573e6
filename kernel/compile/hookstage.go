package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// hookStage returns the id of the node, or of the stage of a block, that the hook is limited to; "" for all.
func (f hookCompiler) hookStage(e object, point plan.HookPoint) string {
	id, at := e.text("stage")
	if at.Node == nil {
		return ""
	}
	if isSessionPoint(point) {
		e.Errorf(at.Pos, yamldoc.CodeConflict, "remove it, or write the hook at stage_start or stage_end", "%s cannot have stage: it is called once per session", e.label)
		return ""
	}
	if a := f.findNode(id); a != nil {
		e.warnNeverCalled(at, point, *a)
		return id
	}
	nodes, inside := f.stageIDs()
	switch block := inside[id]; {
	case block == "":
		if !isStagePoint(point) {
			for id := range inside {
				nodes = append(nodes, id)
			}
		}
		e.Errorf(at.Pos, yamldoc.CodeHookStage, didYouMean(id, nodes), "%s names unknown stage %q", e.label, id)
	case isStagePoint(point):
		suffix := strings.TrimPrefix(string(point), "stage")
		e.Errorf(at.Pos, yamldoc.CodeHookStage, fmt.Sprintf("use parallel_provider%s or iteration%s, or name the block", suffix, suffix),
			"%q is a stage inside block %q, for which %s is not called", id, block, point)
	}
	return id
}

// warnNeverCalled warns of a point that the node never reaches.
func (m object) warnNeverCalled(at value, point plan.HookPoint, a nodeSource) {
	switch {
	case isProviderPoint(point) && !a.has("parallel"):
		m.Warnf(at.Pos, yamldoc.CodeNoEffect, "", "%s is not called for node %q, which is not a parallel block", point, a.id)
	case !isStagePoint(point) && a.runsPipeline():
		m.Warnf(at.Pos, yamldoc.CodeNoEffect, "write the hook in that pipeline", "%s is not called for node %q, which runs a pipeline", point, a.id)
	}
}

// findNode returns the node with an id; nil for none.
func (f hookCompiler) findNode(id string) *nodeSource {
	i := slices.IndexFunc(f.sources, func(a nodeSource) bool { return a.id == id })
	if i < 0 {
		return nil
	}
	return &f.sources[i]
}

// stageIDs returns the ids of the nodes, and a map of the stages inside blocks to their blocks.
func (f hookCompiler) stageIDs() (nodes []string, inside map[string]string) {
	inside = map[string]string{}
	for _, o := range outlines(f.sources) {
		nodes = append(nodes, o.id)
		if o.block == nil {
			continue
		}
		for _, id := range o.block.stages {
			inside[id] = o.id
		}
	}
	return nodes, inside
}
