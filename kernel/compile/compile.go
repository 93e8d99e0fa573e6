package compile

import (
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Pipeline compiles a pipeline file. The error is a [yamldoc.Diagnostics] with every fault and warning.
func Pipeline(req Request) (*Result, error) {
	file := req.AbsolutePath(req.File)
	c := newCompiler(req)
	if req.Text != nil {
		return c.pipeline(file, req.Text)
	}
	data, problem := req.ReadPipeline(file)
	if problem != "" {
		c.document(c.Display(file)).Errorf(dialect.FileStart, yamldoc.CodeRead, "", "%s", problem)
		return nil, c.diagnostics.Sorted()
	}
	return c.pipeline(file, data)
}

// Stage compiles a stage that runs alone, as a loop, to a plan with one node. The stage's own termination.max is
// ignored, as in the Bash engine. The error is a [*sources.NotFoundError] if the stage does not exist, else a
// [yamldoc.Diagnostics].
func Stage(req Request, loop Loop) (*Result, error) {
	dir, err := req.FindStage(loop.Stage, "")
	if err != nil {
		return nil, err
	}
	c := newCompiler(req)
	return c.finish(compileLoop(c, dir, loop))
}

// CheckPipeline compiles a pipeline file as [Pipeline] does and returns every fault and warning, sorted by position.
// The plan lacks nodes that cannot be compiled and must not run; it may be nil. Request.Text is ignored.
func CheckPipeline(req Request) (*plan.Plan, yamldoc.Diagnostics) {
	c := newCompiler(req)
	file := req.AbsolutePath(req.File)
	data, problem := req.ReadPipeline(file)
	if problem != "" {
		c.document(c.Display(file)).Errorf(dialect.FileStart, yamldoc.CodeRead, "", "%s", problem)
		return nil, c.diagnostics
	}
	p := c.outermostPlan(file, data)
	return p, c.diagnostics.Sorted()
}

// CheckStage compiles a stage as [CheckPipeline] compiles a pipeline. Keys that have an effect only in a pipeline are
// accepted.
func CheckStage(req Request, dir sources.StageDir, loop Loop) (*plan.Plan, yamldoc.Diagnostics) {
	c := newCompiler(req)
	c.validateOnly = true
	p := compileLoop(c, dir, loop)
	return p, c.diagnostics.Sorted()
}
