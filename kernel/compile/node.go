package compile

import (
	"cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// compileNode compiles one node and returns its approval. The node is nil if it has faults; they are reported.
func (c *compiler) compileNode(a nodeSource, s inputScope, defaults settings) (*plan.Node, approval) {
	a.checkCommon()
	if w, st, wraps := c.resolveWraps(a); wraps {
		return c.wrapsNode(a, s, w, st)
	}
	if a.has("wraps") { // has the wrong type
		return nil, approval{}
	}
	switch a.kind() {
	case plan.KindStage:
		return c.stageNode(a, s, defaults)
	case plan.KindParallel:
		return c.parallelNode(a, s), a.approval()
	case plan.KindPipeline:
		return c.embedNode(a, s), a.approval()
	default:
		return nil, approval{}
	}
}

// stageNode compiles a node that runs a stage or a prompt.
func (c *compiler) stageNode(a nodeSource, s inputScope, defaults settings) (*plan.Node, approval) {
	node := &plan.Node{ID: a.id, Kind: plan.KindStage, Inputs: a.inputs(s), Policy: a.policy(nodePolicy), Steps: a.steps()}
	nodeSettings, stage, ok := c.stageWork(node, a)
	if !ok {
		return nil, nodeSettings.approval
	}
	node.Provider = c.provider(nodeSettings, stage.settings, defaults)
	a.requirements(c.text).withDefaults(stage.requirements).applyTo(node)
	return node, nodeSettings.approval.withDefault(stage.approval)
}

// stageWork sets the work of the node and returns the settings of the node and its stage. It returns false and
// reports a fault if there is no usable stage.
func (c *compiler) stageWork(node *plan.Node, a nodeSource) (nodeSettings settings, s stage, ok bool) {
	nodeSettings = a.settings()
	r := a.runs()
	st, usable := c.nodeStage(a)
	if !usable {
		return nodeSettings, s, false
	}
	if st != nil {
		s = *st
	}
	contract := a.artifact(c.readBesidePipeline).withDefaults(s.artifact)
	node.Role = s.role
	node.Checks = c.checks(a, st)
	node.Artifact = contract.Artifact
	contract.checkKernelFields(node.Checks)
	node.Termination = mergeTermination(s.termination, nodeSettings.termination, r)
	node.Description = cmp.Or(nodeSettings.description, s.description)
	node.Context = cmp.Or(nodeSettings.context, s.context)
	node.OutputPath = cmp.Or(nodeSettings.outputPath, s.outputPath)
	node.Delay = cmp.Or(nodeSettings.delay, s.delay, c.Defaults.Delay)
	node.Guardrails = cmp.Or(nodeSettings.guardrails, s.guardrails)
	c.checkTermination(node.Termination, s.termination, nodeSettings.termination)
	a.checkChecksTermination(node, s.termination, nodeSettings.termination)
	c.setPrompt(node, a, st)
	return nodeSettings, s, true
}

// nodeStage loads the node's stage; nil for a node with a prompt alone. usable is false if the named stage is not
// usable.
func (c *compiler) nodeStage(a nodeSource) (s *stage, usable bool) {
	name, at := a.text("stage", "loop")
	if at.Node == nil {
		return nil, a.has("prompt")
	}
	s = c.lookupStage(name, a.location(at))
	return s, s != nil
}

// setPrompt sets the node's prompt: its inline prompt, or else the prompt file of its stage.
func (c *compiler) setPrompt(node *plan.Node, a nodeSource, s *stage) {
	node.Prompt, _ = a.text("prompt")
	if s == nil {
		return
	}
	node.Ref, node.Commands = s.dir.Name, s.commands
	if node.Prompt == "" {
		node.PromptPath = c.findPrompt(s)
	}
}

// checkTermination reports an unknown strategy at the location of its name.
func (c *compiler) checkTermination(t plan.Termination, stage, node termination) {
	at := stage.typeAt
	if _, named := node.values["type"]; named {
		at = node.typeAt
	}
	if name := t.Type(); !c.Catalog.Termination(name) && at.Diagnostics != nil {
		at.Errorf(yamldoc.CodeTermination, c.missingHint(sdk.KindTermination, name, c.Catalog.Terminations()), "unknown completion strategy: %s", unquoted(name))
	}
}

// checkChecksTermination checks a node that ends when its checks pass: it needs checks and a maximum.
func (a nodeSource) checkChecksTermination(node *plan.Node, stage, own termination) {
	if node.Termination.Type() != plan.TypeChecks {
		return
	}
	at := stage.typeAt
	if _, named := own.values["type"]; named {
		at = own.typeAt
	}
	bounded := a.has("runs")
	for _, side := range []termination{stage, own} {
		for _, key := range []string{"max", "iterations"} {
			_, isSet := side.values[key]
			bounded = bounded || isSet
		}
	}
	if !bounded {
		at.Errorf(yamldoc.CodeMissing, "add max: the most iterations", "termination checks of %s has no max", a.label)
	}
	if node.Steps != nil {
		at.Errorf(yamldoc.CodeConflict, "write type: fixed, which holds for each step", "%s cannot end by checks: they run after all of its steps, not inside one", a.label)
		return
	}
	if len(node.ChecksAt(plan.AtExit)) == 0 {
		at.Errorf(yamldoc.CodeMissing, "add checks: to the node", "%s ends when its checks pass, but has no exit check", a.label)
	}
}
