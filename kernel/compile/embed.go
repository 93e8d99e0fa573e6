package compile

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// A few small files can embed each other to a huge number of nodes; these bounds limit it.
const (
	maxEmbedding = 10     // files in a chain, the outermost included
	maxNodes     = 10_000 // of a pipeline with all embedded pipelines
)

// ignoredOnPipelines are keys of a stage without effect on a node that embeds a pipeline.
var ignoredOnPipelines = []string{
	"termination", "completion", "consensus", "min_iterations", "provider", "model", "context", "delay", "output_path",
}

// include is a pipeline file that is being compiled.
type include struct {
	path    string // absolute, without symbolic links; identifies the file
	display string // name in messages
}

// embedNode compiles a node that embeds a pipeline.
func (c *compiler) embedNode(a sources.Node, s sources.Scope) *plan.Node {
	a.WarnIgnored(ignoredOnPipelines, "a node that runs a pipeline", "write it in the pipeline")
	a.CheckIgnored()
	for _, key := range []string{"artifact", "checks", "steps"} {
		a.Refuse(key, "write it in the pipeline, on the node that does the work", "the nodes of the pipeline do the work")
	}
	name, at := a.Text("pipeline")
	if at.Node == nil {
		return nil
	}
	wants, node := sources.ReadRequirements(a.Map, c.text), c.pipelineNode(a, s, name, a.Location(at))
	if node != nil {
		wants.ApplyTo(node)
	}
	return node
}

// pipelineNode returns a node that embeds the named pipeline. It returns nil and reports a fault at a location if
// the pipeline is not usable.
func (c *compiler) pipelineNode(a sources.Node, s sources.Scope, name string, at dialect.Location) *plan.Node {
	node := &plan.Node{ID: a.ID, Kind: plan.KindPipeline, Runs: 1, Inputs: sources.ReadInputs(a.Map, s), Policy: sources.ReadPolicy(a.Map, sources.NodePolicy), Guardrails: sources.ReadGuardrails(a.Map)}
	node.Description, _ = a.Text("description")
	if n, count := a.Count("runs"); count.Node != nil {
		node.Runs = n
		if n > 1 && len(c.includeStack) > 1 {
			a.Location(count).Errorf(yamldoc.CodeCycle, "write the runs on the outermost node",
				"an embedded pipeline cannot embed another with %d runs: only the outermost pipeline can repeat one", n)
		}
	}
	node.Ref = name
	if node.Plan = c.embeddedPlan(name, at); node.Plan == nil {
		return nil
	}
	return node
}

// embeddedPlan compiles the pipeline that a node names, once for each file. It returns nil and reports a fault if
// there is no usable one.
func (c *compiler) embeddedPlan(name string, at dialect.Location) *plan.Plan {
	file, err := c.FindPipelineBeside(name, c.pipelineDir)
	var missing *sources.NotFoundError
	if errors.As(err, &missing) {
		at.Errorf(yamldoc.CodePipeline, missing.Hint(), "unknown pipeline %q", name)
		return nil
	}
	path := realPath(file)
	switch i := slices.IndexFunc(c.includeStack, func(o include) bool { return o.path == path }); {
	case i >= 0:
		at.Errorf(yamldoc.CodeCycle, "remove one of these nodes", "pipelines embed each other in a circle: %s", c.includeChain(i, file))
		return nil
	case len(c.includeStack) == maxEmbedding:
		at.Errorf(yamldoc.CodeCycle, "embed fewer pipelines", "pipelines embed each other more than %d files deep: %s", maxEmbedding, c.includeChain(0, file))
		return nil
	}
	p, known := c.embeddedPlans[path]
	if !known {
		p = c.embedFile(file)
		c.embeddedPlans[path] = p
	}
	return p
}

// embedFile compiles an embedded file under its own name and without the overrides of the command line.
func (c *compiler) embedFile(file string) *plan.Plan {
	data, problem := c.ReadPipeline(file)
	if problem != "" {
		c.document(c.Display(file)).Errorf(dialect.FileStart, yamldoc.CodeRead, "", "%s", problem)
		return nil
	}
	p := c.compileFile(file, data, nil)
	if p == nil {
		return nil
	}
	p.Session.Name, p.Pipeline.Overrides = p.Pipeline.Name, nil
	p.Dependencies.BD = needsQueue(p.Nodes)
	return p
}

// includeChain lists the files being compiled from number i on, then file.
func (c *compiler) includeChain(i int, file string) string {
	var names []string
	for _, o := range c.includeStack[i:] {
		names = append(names, o.display)
	}
	return strings.Join(append(names, c.Display(file)), " → ")
}

// checkNodeCount counts the nodes of a file and of its embedded pipelines. It returns false and reports a fault if
// there are too many.
func (c *compiler) checkNodeCount(p *plan.Plan, m dialect.Map) bool {
	total, embeds := len(p.Nodes), false
	for _, n := range p.Nodes {
		total += len(n.Stages)
		if n.Plan != nil {
			total, embeds = total+c.sizes[n.Plan], true
		}
	}
	c.sizes[p] = total
	if embeds && total > maxNodes {
		m.Errorf(m.Node.Pos, yamldoc.CodeSize, "embed fewer pipelines", "the pipeline and its embedded pipelines have %d nodes, more than the %d allowed", total, maxNodes)
		return false
	}
	return true
}

// realPath returns the path without symbolic links; the path itself if they cannot be resolved.
func realPath(file string) string {
	if path, err := filepath.EvalSymlinks(file); err == nil {
		return path
	}
	return file
}
