package compile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// compileLoop compiles a stage that runs alone. It returns nil and reports a fault if the stage is not usable.
func compileLoop(c *compiler, dir sources.StageDir, loop Loop) *plan.Plan {
	s := c.loadStage(dir)
	if s == nil {
		return nil
	}
	c.singleStage = true
	if s.Wraps.IsSet() {
		return compileLoopWraps(c, s)
	}
	p := c.newPlan(s.File, s.Data)
	p.Pipeline.Name, p.Pipeline.Description = s.Name, s.Description
	p.Pipeline.Commands = mergeCommands(c, nil)
	p.Session.Inputs = initialInputs(c, flagPatterns(c))
	p.Dependencies.Tmux = !s.NoTmux
	p.Nodes = append(p.Nodes, plan.Node{
		Path:        "0",
		ID:          dir.Name,
		Kind:        plan.KindStage,
		Ref:         dir.Name,
		Termination: loopTermination(c, s, loop),
		Description: s.Description,
		Provider:    resolveProvider(c, sources.Settings{Map: s.Map}, s.Settings, sources.Settings{}),
		PromptPath:  c.findPrompt(s),
		Context:     s.Context,
		OutputPath:  s.OutputPath,
		Delay:       cmp.Or(s.Delay, c.Defaults.Delay),
		Guardrails:  s.Guardrails,
		Role:        s.Role,
		Artifact:    singleStageArtifact(c, s),
		Commands:    s.Commands,
		Requires:    s.Requirements.Requires,
	})
	checkFlags(c, p)
	setRunTimeout(c, p)
	checkSingleStage(c, s)
	switch {
	case s.Approval.Required:
		p.Pipeline.Hooks = numberHooks([]plan.Hook{approvalHook(dir.Name, s.Approval.At)})
	case slices.Contains(c.Overrides.Iterate, dir.Name):
		p.Pipeline.Hooks = numberHooks([]plan.Hook{approvalHook(dir.Name, c.overrideLocation("iterate"))})
	}
	return p
}

// checkSingleStage warns of keys and flags without effect on a stage that runs alone.
func checkSingleStage(c *compiler, s *sources.Stage) {
	switch {
	case !s.Has("checks"):
	case c.validateOnly:
		compileChecks(c, sources.ReadChecks(s.Map, "the stage"))
	default:
		s.Warnf(s.KeyPos("checks"), yamldoc.CodeNoEffect, "use the stage in a pipeline", "checks have no effect on a stage that runs alone")
	}
	if s.Requirements.SkipWhen != "" && !c.validateOnly {
		s.Warnf(s.Requirements.SkipWhenAt.Pos, yamldoc.CodeNoEffect, "use the stage in a pipeline", "skip_when has no effect on a stage that runs alone: the command names it explicitly")
	}
	if at := c.overrideLocation("supervised"); c.Overrides.Supervised {
		at.Warnf(yamldoc.CodeNoEffect, "use "+c.OverrideLabel("iterate")+" "+s.Dir.Name, "supervised has no effect on a stage that runs alone: it asks after every node but the last")
	}
}

// loopTermination returns the stage's termination with the maximum of loop. The result includes check_before, which
// only a stage that runs alone has.
func loopTermination(c *compiler, s *sources.Stage, loop Loop) plan.Termination {
	stageTermination := sources.Termination{Values: maps.Clone(s.Termination.Values), TypeAt: s.Termination.TypeAt}
	delete(stageTermination.Values, "max")
	delete(stageTermination.Values, "iterations")
	if loop.Max < 0 {
		c.externalLocation("max").Errorf(yamldoc.CodeRange, "", "the number of iterations must be at least 1, not %d", loop.Max)
	}
	t := sources.MergeTermination(stageTermination, sources.Termination{}, sources.RunCount{Count: cmp.Or(loop.Max, DefaultLoopMax)})
	if s.CheckBefore {
		t["check_before"] = true
	}
	checkTermination(c, t, stageTermination, sources.Termination{})
	if t.Type() == plan.TypeChecks && !c.validateOnly {
		s.Termination.TypeAt.Errorf(yamldoc.CodeConflict, "use the stage in a pipeline, where its node has checks", "a stage that runs alone has no checks and cannot end by them")
	}
	return t
}

// singleStageArtifact returns the artifact of a stage that runs alone, without kernel_fields, whose values come from
// checks.
func singleStageArtifact(c *compiler, s *sources.Stage) *plan.Artifact {
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

// compileLoopWraps reports a fault for a stage with wraps, because a stage that runs alone has no input. For a
// validation it returns a plan whose only node is the wrapping node.
func compileLoopWraps(c *compiler, s *sources.Stage) *plan.Plan {
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
	node.Path, node.Ref, node.Wraps, node.Artifact = "0", s.Dir.Name, toPlan(s.Wraps, c), wrapsArtifact(singleStageArtifact(c, s))
	p.Nodes = append(p.Nodes, *node)
	return p
}

// Loop describes a stage that runs alone.
type Loop struct {
	Stage string // the stage's name
	Max   int    // maximum of iterations; 0: [DefaultLoopMax]
}

// DefaultLoopMax is the default of [Loop.Max].
const DefaultLoopMax = 25
