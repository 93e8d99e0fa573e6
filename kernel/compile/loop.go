package compile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// stageLoop compiles a stage that runs alone. It returns nil and reports a fault if the stage is not usable.
func (c *compiler) stageLoop(dir StageDir, loop Loop) *plan.Plan {
	s := c.loadStage(dir)
	if s == nil {
		return nil
	}
	c.singleStage = true
	if s.wraps.isSet() {
		return c.singleStageWraps(s)
	}
	p := c.newPlan(s.File, s.data)
	p.Pipeline.Name, p.Pipeline.Description = s.name, s.description
	p.Pipeline.Commands = c.mergeCommands(nil)
	p.Session.Inputs = c.initialInputs(c.flagPatterns())
	p.Dependencies.Tmux = !s.noTmux
	p.Nodes = append(p.Nodes, plan.Node{
		Path:        "0",
		ID:          dir.Name,
		Kind:        plan.KindStage,
		Ref:         dir.Name,
		Termination: c.loopTermination(s, loop),
		Description: s.description,
		Provider:    c.provider(settings{object: s.object}, s.settings, settings{}),
		PromptPath:  c.findPrompt(s),
		Context:     s.context,
		OutputPath:  s.outputPath,
		Delay:       cmp.Or(s.delay, c.Defaults.Delay),
		Guardrails:  s.guardrails,
		Role:        s.role,
		Artifact:    c.singleStageArtifact(s),
		Commands:    s.commands,
		Requires:    s.requirements.requires,
	})
	c.checkFlags(p)
	c.setRunTimeout(p)
	c.checkSingleStage(s)
	switch {
	case s.approval.required:
		p.Pipeline.Hooks = numberHooks([]plan.Hook{approvalHook(dir.Name, s.approval.at)})
	case slices.Contains(c.Overrides.Iterate, dir.Name):
		p.Pipeline.Hooks = numberHooks([]plan.Hook{approvalHook(dir.Name, c.externalLocation("--iterate"))})
	}
	return p
}

// checkSingleStage warns of keys and flags without effect on a stage that runs alone.
func (c *compiler) checkSingleStage(s *stage) {
	switch {
	case !s.has("checks"):
	case c.validateOnly:
		c.readChecks(s.checkObjects("the stage"))
	default:
		s.Warnf(s.keyPos("checks"), yamldoc.CodeNoEffect, "use the stage in a pipeline", "checks have no effect on a stage that runs alone")
	}
	if s.requirements.skipWhen != "" && !c.validateOnly {
		s.Warnf(s.requirements.skipWhenAt.Pos, yamldoc.CodeNoEffect, "use the stage in a pipeline", "skip_when has no effect on a stage that runs alone: the command names it explicitly")
	}
	if at := c.externalLocation("--supervised"); c.Overrides.Supervised {
		at.Warnf(yamldoc.CodeNoEffect, "use --iterate "+s.dir.Name, "supervised has no effect on a stage that runs alone: it asks after every node but the last")
	}
}

// loopTermination returns the stage's termination with the maximum of the command. check_before, which only such
// loops have, is part of it.
func (c *compiler) loopTermination(s *stage, loop Loop) plan.Termination {
	stageTermination := termination{values: maps.Clone(s.termination.values), typeAt: s.termination.typeAt}
	delete(stageTermination.values, "max")
	delete(stageTermination.values, "iterations")
	if loop.Max < 0 {
		c.externalLocation("max").Errorf(yamldoc.CodeRange, "", "the number of iterations must be at least 1, not %d", loop.Max)
	}
	count := loop.Max
	if count == 0 {
		count = DefaultLoopMax
	}
	t := mergeTermination(stageTermination, termination{}, runCount{count: count})
	if s.checkBefore {
		t["check_before"] = true
	}
	c.checkTermination(t, stageTermination, termination{})
	if t.Type() == plan.TypeChecks && !c.validateOnly {
		s.termination.typeAt.Errorf(yamldoc.CodeConflict, "use the stage in a pipeline, where its node has checks", "a stage that runs alone has no checks and cannot end by them")
	}
	return t
}

// singleStageArtifact returns the artifact of a stage that runs alone, without fields of checks.
func (c *compiler) singleStageArtifact(s *stage) *plan.Artifact {
	if s.artifact.Artifact == nil || len(s.artifact.KernelFields) == 0 {
		return s.artifact.Artifact
	}
	if at := s.artifact.kernelFields; !c.validateOnly {
		at.Warnf(at.node.Pos, yamldoc.CodeNoEffect, "use the stage in a pipeline, where its node has checks", "kernel_fields have no effect on a stage that runs alone: it has no checks")
	}
	contract := *s.artifact.Artifact
	contract.KernelFields = nil
	return &contract
}
