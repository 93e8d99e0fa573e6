package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// hookStage returns the id of the node, or of the stage of a block, that the hook is limited to; "" for all.
func (f hookCompiler) hookStage(e dialect.Map, id string, point plan.HookPoint) string {
	at := e.Get("stage")
	if id == "" {
		return ""
	}
	if isSessionPoint(point) {
		e.Errorf(at.Pos, yamldoc.CodeConflict, "remove it, or write the hook at stage_start or stage_end", "%s cannot have stage: it is called once per session", e.Label)
		return ""
	}
	if a := f.findNode(id); a != nil {
		warnNeverCalled(e, at, point, *a)
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
		e.Errorf(at.Pos, yamldoc.CodeHookStage, dialect.DidYouMean(id, nodes), "%s names unknown stage %q", e.Label, id)
	case isStagePoint(point):
		suffix := strings.TrimPrefix(string(point), "stage")
		e.Errorf(at.Pos, yamldoc.CodeHookStage, fmt.Sprintf("use parallel_provider%s or iteration%s, or name the block", suffix, suffix),
			"%q is a stage inside block %q, for which %s is not called", id, block, point)
	}
	return id
}

// warnNeverCalled warns of a point that the node never reaches.
func warnNeverCalled(m dialect.Map, at dialect.Member, point plan.HookPoint, a sources.Node) {
	switch {
	case isProviderPoint(point) && !a.Has("parallel"):
		m.Warnf(at.Pos, yamldoc.CodeNoEffect, "", "%s is not called for node %q, which is not a parallel block", point, a.ID)
	case !isStagePoint(point) && a.RunsPipeline():
		m.Warnf(at.Pos, yamldoc.CodeNoEffect, "write the hook in that pipeline", "%s is not called for node %q, which runs a pipeline", point, a.ID)
	}
}

// findNode returns the node with an id; nil for none.
func (f hookCompiler) findNode(id string) *sources.Node {
	i := slices.IndexFunc(f.sources, func(a sources.Node) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	return &f.sources[i]
}

// stageIDs returns the ids of the nodes, and a map of the stages inside blocks to their blocks.
func (f hookCompiler) stageIDs() (nodes []string, inside map[string]string) {
	inside = map[string]string{}
	for _, o := range sources.Outlines(f.sources) {
		nodes = append(nodes, o.ID)
		if o.Block == nil {
			continue
		}
		for _, id := range o.Block.Stages {
			inside[id] = o.ID
		}
	}
	return nodes, inside
}

// hookCompiler compiles the hooks of one pipeline file.
type hookCompiler struct {
	*compiler
	data    []byte         // content of the file
	sources []sources.Node // its nodes
}

func isSessionPoint(p plan.HookPoint) bool { return strings.HasPrefix(string(p), "session_") }

func isStagePoint(p plan.HookPoint) bool { return strings.HasPrefix(string(p), "stage_") }

func isProviderPoint(p plan.HookPoint) bool {
	return strings.HasPrefix(string(p), "parallel_provider_")
}
