package compile

import (
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// resolveWraps returns the wraps of a node, with defaults from the stage that the node names, and that stage. ok is
// false without wraps. The compilation of the node, not resolveWraps, reports faults of the stage's name.
func resolveWraps(c *compiler, a sources.Node) (w sources.Wraps, st *sources.Stage, ok bool) {
	w = sources.ReadWraps(a.Map)
	if name := a.Get("stage", "loop"); name.Node != nil && name.Kind == yamldoc.Text {
		if dir, err := c.FindStage(dialect.TrimNewlines(name.Source), c.pipelineDir); err == nil {
			st = c.cachedStage(dir)
		}
	}
	if st != nil {
		w = w.WithDefaults(st.Wraps)
	}
	return w, st, w.IsSet()
}

// toPlan returns the plan's form of the wraps.
func toPlan(w sources.Wraps, c *compiler) *plan.Wraps {
	p := &plan.Wraps{Run: w.Run, Inputs: w.Inputs, Outputs: w.Outputs, Defaults: w.Defaults}
	if w.Run != "" && w.Dir.Path != "" {
		p.Dir = stagePlanDir(c, w.Dir)
	}
	return p
}

// stagePlanDir returns the path of a stage directory for the plan. A shipped stage is added to the stages to copy.
func stagePlanDir(c *compiler, dir sources.StageDir) string {
	if !dir.Library {
		return c.Display(dir.Path)
	}
	c.library = append(c.library, dir.Path)
	return filepath.ToSlash(filepath.Join(LibraryDir(c.Session), dir.Path))
}

// wrapsArtifact returns the contract of a node with wraps. It allows no retries, because no agent can be asked again.
// If a is nil, the contract demands nothing.
func wrapsArtifact(a *plan.Artifact) *plan.Artifact {
	contract := plan.Artifact{}
	if a != nil {
		contract = *a
	}
	contract.From, contract.Heal = "", new(int)
	return &contract
}

// refuseWrapping reports a fault if a stage of a parallel block has wraps, and returns whether it has.
func refuseWrapping(c *compiler, a sources.Node) bool {
	_, _, ok := resolveWraps(c, a)
	if ok {
		at := a.Location(a.Get("wraps", "stage", "loop"))
		at.Errorf(yamldoc.CodeConflict, "make it a node of its own", "%s cannot wrap anything: the block's providers run its stages", a.Label)
	}
	return ok
}
