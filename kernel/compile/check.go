package compile

import (
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// CheckPipeline compiles a pipeline file as [Pipeline] does and returns every fault and warning, sorted by
// position, together with what came of it all the same: a plan that lacks the nodes with faults, or nil.
// Such a plan is for looking at, not for running.
func CheckPipeline(req Request) (*plan.Plan, diagnostic.List) {
	c := newCompiler(req)
	file := req.absolutePath(req.File)
	data, problem := req.ReadPipeline(file)
	if problem != "" {
		c.document(c.display(file)).Errorf(start, diagnostic.CodeRead, "", "%s", problem)
		return nil, c.diagnostics
	}
	p := c.outermostPlan(file, data)
	return p, c.diagnostics.Sorted()
}

// CheckStage is [CheckPipeline] for a stage in its folder, which runs alone.
func CheckStage(req Request, dir StageDir, loop Loop) (*plan.Plan, diagnostic.List) {
	c := newCompiler(req)
	c.validateOnly = true
	p := c.stageLoop(dir, loop)
	return p, c.diagnostics.Sorted()
}

// Display is how plans and messages name a file: relative to the project, with slashes, where it lies
// inside it.
func (r Roots) Display(file string) string { return r.display(file) }
