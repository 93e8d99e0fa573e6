package compile

import (
	"cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// stageWork sets the work of the node and returns the settings of the node and its stage. It returns false and
// reports a fault if there is no usable stage.
func stageWork(c *compiler, node *plan.Node, a sources.Node) (nodeSettings sources.Settings, s sources.Stage, ok bool) {
	nodeSettings = sources.ReadSettings(a.Map)
	r := sources.ReadRuns(a.Map)
	sources.WarnUnread(a.Map, a.Label)
	st, usable := findNodeStage(c, a)
	if !usable {
		return nodeSettings, s, false
	}
	if st != nil {
		s = *st
	}
	contract := sources.ReadArtifact(a.Map, c.readBesidePipeline).WithDefaults(s.Artifact)
	node.Role = s.Role
	node.Checks = mergeChecks(c, a, st)
	node.Artifact = contract.Artifact
	contract.CheckKernelFields(node.Checks)
	node.Termination = sources.MergeTermination(s.Termination, nodeSettings.Termination, r)
	node.Description = cmp.Or(nodeSettings.Description, s.Description)
	node.Context = cmp.Or(nodeSettings.Context, s.Context)
	node.OutputPath = cmp.Or(nodeSettings.OutputPath, s.OutputPath)
	node.Delay = cmp.Or(nodeSettings.Delay, s.Delay, c.Defaults.Delay)
	node.Guardrails = cmp.Or(nodeSettings.Guardrails, s.Guardrails)
	checkTermination(c, node.Termination, s.Termination, nodeSettings.Termination)
	checkChecksTermination(a, node, s.Termination, nodeSettings.Termination)
	setPrompt(c, node, a, st)
	return nodeSettings, s, true
}

// findNodeStage loads the node's stage; nil for a node with a prompt alone. usable is false if the named stage is not
// usable, or if the node has neither a stage nor a prompt.
func findNodeStage(c *compiler, a sources.Node) (s *sources.Stage, usable bool) {
	name, at := a.Text("stage", "loop")
	if at.Node == nil {
		return nil, a.Has("prompt")
	}
	s = c.lookupStage(name, a.Location(at))
	return s, s != nil
}

// setPrompt sets the node's prompt: its inline prompt, or else the prompt file of its stage. It also sets the name
// and the commands of the stage.
func setPrompt(c *compiler, node *plan.Node, a sources.Node, s *sources.Stage) {
	node.Prompt, _ = a.Text("prompt")
	if s == nil {
		return
	}
	node.Ref, node.Commands = s.Dir.Name, s.Commands
	if node.Prompt == "" {
		node.PromptPath = c.findPrompt(s)
	}
}

// checkTermination reports an unknown strategy at the location of its name.
func checkTermination(c *compiler, t plan.Termination, stage, node sources.Termination) {
	at := stage.TypeAt
	if _, named := node.Values["type"]; named {
		at = node.TypeAt
	}
	if name := t.Type(); !c.Catalog.Termination(name) && at.Diagnostics != nil {
		at.Errorf(yamldoc.CodeTermination, c.missingHint(sdk.KindTermination, name, c.Catalog.Terminations()), "unknown completion strategy: %s", sources.Unquoted(name))
	}
}

// checkChecksTermination checks a node that ends when its checks pass: it needs checks and a maximum.
func checkChecksTermination(a sources.Node, node *plan.Node, stage, own sources.Termination) {
	if node.Termination.Type() != plan.TypeChecks {
		return
	}
	at := stage.TypeAt
	if _, named := own.Values["type"]; named {
		at = own.TypeAt
	}
	bounded := a.Has("runs")
	for _, side := range []sources.Termination{stage, own} {
		for _, key := range []string{"max", "iterations"} {
			_, isSet := side.Values[key]
			bounded = bounded || isSet
		}
	}
	if !bounded {
		at.Errorf(yamldoc.CodeMissing, "add max: the most iterations", "termination checks of %s has no max", a.Label)
	}
	if node.Steps != nil {
		at.Errorf(yamldoc.CodeConflict, "write type: fixed, which holds for each step", "%s cannot end by checks: they run after all of its steps, not inside one", a.Label)
		return
	}
	if len(node.ChecksAt(plan.AtExit)) == 0 {
		at.Errorf(yamldoc.CodeMissing, "add checks: to the node", "%s ends when its checks pass, but has no exit check", a.Label)
	}
}
