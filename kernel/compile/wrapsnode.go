package compile

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// resolveWraps returns the wraps of a node or of a stage alone, with the stage that it names. ok is false without
// wraps. It reports no faults of the stage's name: the compilation of the node does.
func (c *compiler) resolveWraps(a sources.Node) (w sources.Wraps, st *sources.Stage, ok bool) {
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

// wrapsNode compiles a node that wraps a pipeline or a command. The node is nil if it has faults; they are
// reported.
func (c *compiler) wrapsNode(a sources.Node, s sources.Scope, w sources.Wraps, st *sources.Stage) (*plan.Node, sources.Approval) {
	nodeSettings := sources.ReadSettings(a.Map)
	if st == nil && a.Has("stage", "loop") {
		c.nodeStage(a) // reports the fault
		return nil, nodeSettings.Approval
	}
	var stage sources.Stage
	if st != nil {
		stage = *st
	}
	approval := nodeSettings.Approval.WithDefault(stage.Approval)
	a.RefuseWrapsConflicts(w)
	node := c.wrappedNode(a, s, w)
	if node == nil {
		return nil, approval
	}
	node.Description = cmp.Or(nodeSettings.Description, stage.Description)
	node.Guardrails = cmp.Or(nodeSettings.Guardrails, stage.Guardrails)
	node.Wraps = toPlan(w, c)
	node.Commands, node.Role = stage.Commands, stage.Role
	sources.ReadRequirements(a.Map, c.text).WithDefaults(stage.Requirements).ApplyTo(node)
	contract := sources.ReadArtifact(a.Map, c.readBesidePipeline).WithDefaults(stage.Artifact)
	node.Checks = c.checks(a, st)
	contract.CheckKernelFields(node.Checks)
	node.Artifact = wrapsArtifact(contract.Artifact)
	if node.Kind == plan.KindStage {
		node.OutputPath, node.Ref = cmp.Or(nodeSettings.OutputPath, stage.OutputPath), stage.Dir.Name
		c.wrapsLocations[node.Wraps] = w.RunAt
	}
	return node, approval
}

// wrappedNode returns the node of the wrapped target.
func (c *compiler) wrappedNode(a sources.Node, s sources.Scope, w sources.Wraps) *plan.Node {
	switch {
	case w.Pipeline != "":
		return c.pipelineNode(a, s, w.Pipeline, w.PipelineAt)
	case w.Run == "":
		w.Errorf(w.Node.Pos, yamldoc.CodeMissing, "add pipeline: <name>, or run: <command>", "%s has neither a pipeline nor a command", w.Label)
		return nil
	}
	if _, _, ok := c.Catalog.Provider(plan.ProviderCommand); !ok {
		w.RunAt.Errorf(yamldoc.CodeProvider, c.missingHint(sdk.KindProvider, plan.ProviderCommand, c.Catalog.Providers()), "wraps needs the provider %q, which no plugin has", plan.ProviderCommand)
	}
	return &plan.Node{
		ID: a.ID, Kind: plan.KindStage, Inputs: sources.ReadInputs(a.Map, s), Policy: sources.ReadPolicy(a.Map, sources.NodePolicy), Provider: &plan.Provider{Type: plan.ProviderCommand},
		Termination: plan.Termination{"type": plan.TypeFixed, "max": 1},
	}
}

// toPlan returns the plan's form of the wraps.
func toPlan(w sources.Wraps, c *compiler) *plan.Wraps {
	p := &plan.Wraps{Run: w.Run, Inputs: w.Inputs, Outputs: w.Outputs, Defaults: w.Defaults}
	if w.Run != "" && w.Dir.Path != "" {
		p.Dir = c.stagePlanDir(w.Dir)
	}
	return p
}

// stagePlanDir returns the plan's path of a stage directory. A shipped stage is added to the stages to copy.
func (c *compiler) stagePlanDir(dir sources.StageDir) string {
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
func (c *compiler) refuseWrapping(a sources.Node) bool {
	_, _, ok := c.resolveWraps(a)
	if ok {
		at := a.Location(a.Get("wraps", "stage", "loop"))
		at.Errorf(yamldoc.CodeConflict, "make it a node of its own", "%s cannot wrap anything: the block's providers run its stages", a.Label)
	}
	return ok
}

// singleStageWraps reports a stage with wraps that runs alone, which would have no input. A validation without a
// run gets a node without a pipeline.
func (c *compiler) singleStageWraps(s *sources.Stage) *plan.Plan {
	if !c.validateOnly {
		s.Errorf(s.KeyPos("wraps"), yamldoc.CodeConflict, fmt.Sprintf("use it in a pipeline, nodes: [{id: %s, stage: %[1]s}], and run that", s.Dir.Name),
			"stage %q wraps %s, and cannot run alone", s.Dir.Name, s.Wraps.Describe())
		return nil
	}
	p := c.newPlan(s.File, s.Data)
	a := sources.Node{Map: s.Map, Noun: "stage", ID: s.Dir.Name}
	node := c.wrappedNode(sources.Node{Map: s.Nested(&yamldoc.Node{Kind: yamldoc.Map}, a.Label), ID: a.ID}, sources.Scope{}, s.Wraps)
	if node == nil {
		return nil
	}
	node.Path, node.Ref, node.Wraps, node.Artifact = "0", s.Dir.Name, toPlan(s.Wraps, c), wrapsArtifact(c.singleStageArtifact(s))
	p.Nodes = append(p.Nodes, *node)
	return p
}
