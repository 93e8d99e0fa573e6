package compile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// stageLoop compiles a stage that runs alone. It returns nil and reports a fault if the stage is not usable.
func (c *compiler) stageLoop(dir sources.StageDir, loop Loop) *plan.Plan {
	s := c.loadStage(dir)
	if s == nil {
		return nil
	}
	c.singleStage = true
	if s.Wraps.IsSet() {
		return c.singleStageWraps(s)
	}
	p := c.newPlan(s.File, s.Data)
	p.Pipeline.Name, p.Pipeline.Description = s.Name, s.Description
	p.Pipeline.Commands = c.mergeCommands(nil)
	p.Session.Inputs = c.initialInputs(c.flagPatterns())
	p.Dependencies.Tmux = !s.NoTmux
	p.Nodes = append(p.Nodes, plan.Node{
		Path:        "0",
		ID:          dir.Name,
		Kind:        plan.KindStage,
		Ref:         dir.Name,
		Termination: c.loopTermination(s, loop),
		Description: s.Description,
		Provider:    c.provider(sources.Settings{Map: s.Map}, s.Settings, sources.Settings{}),
		PromptPath:  c.findPrompt(s),
		Context:     s.Context,
		OutputPath:  s.OutputPath,
		Delay:       cmp.Or(s.Delay, c.Defaults.Delay),
		Guardrails:  s.Guardrails,
		Role:        s.Role,
		Artifact:    c.singleStageArtifact(s),
		Commands:    s.Commands,
		Requires:    s.Requirements.Requires,
	})
	c.checkFlags(p)
	c.setRunTimeout(p)
	c.checkSingleStage(s)
	switch {
	case s.Approval.Required:
		p.Pipeline.Hooks = numberHooks([]plan.Hook{approvalHook(dir.Name, s.Approval.At)})
	case slices.Contains(c.Overrides.Iterate, dir.Name):
		p.Pipeline.Hooks = numberHooks([]plan.Hook{approvalHook(dir.Name, c.externalLocation("--iterate"))})
	}
	return p
}

// checkSingleStage warns of keys and flags without effect on a stage that runs alone.
func (c *compiler) checkSingleStage(s *sources.Stage) {
	switch {
	case !s.Has("checks"):
	case c.validateOnly:
		c.compileChecks(sources.ReadChecks(s.Settings.Map, "the stage"))
	default:
		s.Warnf(s.KeyPos("checks"), yamldoc.CodeNoEffect, "use the stage in a pipeline", "checks have no effect on a stage that runs alone")
	}
	if s.Requirements.SkipWhen != "" && !c.validateOnly {
		s.Warnf(s.Requirements.SkipWhenAt.Pos, yamldoc.CodeNoEffect, "use the stage in a pipeline", "skip_when has no effect on a stage that runs alone: the command names it explicitly")
	}
	if at := c.externalLocation("--supervised"); c.Overrides.Supervised {
		at.Warnf(yamldoc.CodeNoEffect, "use --iterate "+s.Dir.Name, "supervised has no effect on a stage that runs alone: it asks after every node but the last")
	}
}

// loopTermination returns the stage's termination with the maximum of the command. check_before, which only such
// loops have, is part of it.
func (c *compiler) loopTermination(s *sources.Stage, loop Loop) plan.Termination {
	stageTermination := sources.Termination{Values: maps.Clone(s.Termination.Values), TypeAt: s.Termination.TypeAt}
	delete(stageTermination.Values, "max")
	delete(stageTermination.Values, "iterations")
	if loop.Max < 0 {
		c.externalLocation("max").Errorf(yamldoc.CodeRange, "", "the number of iterations must be at least 1, not %d", loop.Max)
	}
	count := loop.Max
	if count == 0 {
		count = DefaultLoopMax
	}
	t := sources.MergeTermination(stageTermination, sources.Termination{}, sources.RunCount{Count: count})
	if s.CheckBefore {
		t["check_before"] = true
	}
	c.checkTermination(t, stageTermination, sources.Termination{})
	if t.Type() == plan.TypeChecks && !c.validateOnly {
		s.Termination.TypeAt.Errorf(yamldoc.CodeConflict, "use the stage in a pipeline, where its node has checks", "a stage that runs alone has no checks and cannot end by them")
	}
	return t
}

// singleStageArtifact returns the artifact of a stage that runs alone, without fields of checks.
func (c *compiler) singleStageArtifact(s *sources.Stage) *plan.Artifact {
	if s.Artifact.Artifact == nil || len(s.Artifact.KernelFields) == 0 {
		return s.Artifact.Artifact
	}
	if at := s.Artifact.KernelFieldsMap; !c.validateOnly {
		at.Warnf(at.Node.Pos, yamldoc.CodeNoEffect, "use the stage in a pipeline, where its node has checks", "kernel_fields have no effect on a stage that runs alone: it has no checks")
	}
	contract := *s.Artifact.Artifact
	contract.KernelFields = nil
	return &contract
}
