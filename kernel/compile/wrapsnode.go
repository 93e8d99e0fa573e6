package compile

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// resolveWraps returns the wraps of a node or of a stage alone, with the stage that it names. ok is false without
// wraps. It reports no faults of the stage's name: the compilation of the node does.
func (c *compiler) resolveWraps(a nodeSource) (w wraps, st *stage, ok bool) {
	w = a.wraps()
	if name := a.get("stage", "loop"); name.Node != nil && name.Kind == yamldoc.Text {
		if dir, err := c.FindStage(trimNewlines(name.Source), c.pipelineDir); err == nil {
			st = c.cachedStage(dir)
		}
	}
	if st != nil {
		w = w.withDefaults(st.wraps)
	}
	return w, st, w.isSet()
}

// wrapsNode compiles a node that wraps a pipeline or a command. The node is nil if it has faults; they are
// reported.
func (c *compiler) wrapsNode(a nodeSource, s inputScope, w wraps, st *stage) (*plan.Node, approval) {
	nodeSettings := a.settings()
	if st == nil && a.has("stage", "loop") {
		c.nodeStage(a) // reports the fault
		return nil, nodeSettings.approval
	}
	var stage stage
	if st != nil {
		stage = *st
	}
	approval := nodeSettings.approval.withDefault(stage.approval)
	a.refuseWrapsConflicts(w)
	node := c.wrappedNode(a, s, w)
	if node == nil {
		return nil, approval
	}
	node.Description = cmp.Or(nodeSettings.description, stage.description)
	node.Guardrails = cmp.Or(nodeSettings.guardrails, stage.guardrails)
	node.Wraps = w.toPlan(c)
	node.Commands, node.Role = stage.commands, stage.role
	a.requirements(c.text).withDefaults(stage.requirements).applyTo(node)
	contract := a.artifact(c.readBesidePipeline).withDefaults(stage.artifact)
	node.Checks = c.checks(a, st)
	contract.checkKernelFields(node.Checks)
	node.Artifact = wrapsArtifact(contract.Artifact)
	if node.Kind == plan.KindStage {
		node.OutputPath, node.Ref = cmp.Or(nodeSettings.outputPath, stage.outputPath), stage.dir.Name
		c.wrapsLocations[node.Wraps] = w.runAt
	}
	return node, approval
}

// wrappedNode returns the node of the wrapped target.
func (c *compiler) wrappedNode(a nodeSource, s inputScope, w wraps) *plan.Node {
	switch {
	case w.pipeline != "":
		return c.pipelineNode(a, s, w.pipeline, w.pipelineAt)
	case w.run == "":
		w.Errorf(w.node.Pos, yamldoc.CodeMissing, "add pipeline: <name>, or run: <command>", "%s has neither a pipeline nor a command", w.label)
		return nil
	}
	if _, _, ok := c.Catalog.Provider(plan.ProviderCommand); !ok {
		w.runAt.Errorf(yamldoc.CodeProvider, c.missingHint(sdk.KindProvider, plan.ProviderCommand, c.Catalog.Providers()), "wraps needs the provider %q, which no plugin has", plan.ProviderCommand)
	}
	return &plan.Node{
		ID: a.id, Kind: plan.KindStage, Inputs: a.inputs(s), Policy: a.policy(nodePolicy), Provider: &plan.Provider{Type: plan.ProviderCommand},
		Termination: plan.Termination{"type": plan.TypeFixed, "max": 1},
	}
}

// toPlan returns the plan's form of the wraps.
func (w wraps) toPlan(c *compiler) *plan.Wraps {
	p := &plan.Wraps{Run: w.run, Inputs: w.inputs, Outputs: w.outputs, Defaults: w.defaults}
	if w.run != "" && w.dir.Path != "" {
		p.Dir = c.stagePlanDir(w.dir)
	}
	return p
}

// stagePlanDir returns the plan's path of a stage directory. A shipped stage is added to the stages to copy.
func (c *compiler) stagePlanDir(dir StageDir) string {
	if !dir.Library {
		return c.Display(dir.Path)
	}
	c.library = append(c.library, dir.Path)
	return filepath.ToSlash(filepath.Join(LibraryDir(c.Session), dir.Path))
}

// wrapsArtifact returns the contract of a wraps node. It allows no retries, because no agent can be asked again; without a, it
// demands nothing.
func wrapsArtifact(a *plan.Artifact) *plan.Artifact {
	contract := plan.Artifact{}
	if a != nil {
		contract = *a
	}
	contract.From, contract.Heal = "", new(int)
	return &contract
}

// refuseWrapping reports a stage of a parallel block with wraps, and returns whether it has one.
func (c *compiler) refuseWrapping(a nodeSource) bool {
	_, _, ok := c.resolveWraps(a)
	if ok {
		at := a.location(a.get("wraps", "stage", "loop"))
		at.Errorf(yamldoc.CodeConflict, "make it a node of its own", "%s cannot wrap anything: the block's providers run its stages", a.label)
	}
	return ok
}

// singleStageWraps reports a stage with wraps that runs alone, which would have no input. A validation without a
// run gets a node without a pipeline.
func (c *compiler) singleStageWraps(s *stage) *plan.Plan {
	if !c.validateOnly {
		s.Errorf(s.keyPos("wraps"), yamldoc.CodeConflict, fmt.Sprintf("use it in a pipeline, nodes: [{id: %s, stage: %[1]s}], and run that", s.dir.Name),
			"stage %q wraps %s, and cannot run alone", s.dir.Name, s.wraps.describe())
		return nil
	}
	p := c.newPlan(s.File, s.data)
	a := nodeSource{object: s.object, noun: "stage", id: s.dir.Name}
	node := c.wrappedNode(nodeSource{object: s.nested(&yamldoc.Node{Kind: yamldoc.Map}, a.label), id: a.id}, inputScope{}, s.wraps)
	if node == nil {
		return nil
	}
	node.Path, node.Ref, node.Wraps, node.Artifact = "0", s.dir.Name, s.wraps.toPlan(c), wrapsArtifact(c.singleStageArtifact(s))
	p.Nodes = append(p.Nodes, *node)
	return p
}
