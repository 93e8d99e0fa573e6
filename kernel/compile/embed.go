package compile

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Bounds of embedding: a few small files can stand for more nodes than any run could work through.
const (
	maxEmbedding = 10     // files in a chain, the outermost included
	maxNodes     = 10_000 // of a pipeline and all that it embeds
)

// ignoredOnPipelines are keys of a stage that mean nothing on a node that embeds a pipeline.
var ignoredOnPipelines = []string{
	"termination", "completion", "consensus", "min_iterations", "provider", "model", "context", "delay", "output_path",
}

// include is a pipeline file that is being compiled.
type include struct {
	path    string // absolute, without symbolic links: the file's identity
	display string // in messages
}

// embedNode compiles a node that stands for a whole pipeline.
func (c *compiler) embedNode(a nodeSource, s inputScope) *plan.Node {
	a.warnIgnored(ignoredOnPipelines, "a node that runs a pipeline", "say it in the pipeline")
	a.checkIgnored()
	for _, key := range []string{"artifact", "checks", "steps"} {
		a.refuse(key, "say it in the pipeline, on the node whose work it is", "its work is done by the nodes inside")
	}
	name, at := a.text("pipeline")
	if at.Node == nil {
		return nil
	}
	wants, node := a.requirements(c.text), c.pipelineNode(a, s, name, a.location(at))
	if node != nil {
		wants.applyTo(node)
	}
	return node
}

// pipelineNode is a node that stands for the pipeline with the name, which is said at a place; nil, having said why, if
// there is no usable one.
func (c *compiler) pipelineNode(a nodeSource, s inputScope, name string, at location) *plan.Node {
	node := &plan.Node{ID: a.id, Kind: plan.KindPipeline, Runs: 1, Inputs: a.inputs(s), Policy: a.policy(nodePolicy), Guardrails: a.guardrails()}
	node.Description, _ = a.text("description")
	if n, said := a.count("runs"); said.Node != nil {
		node.Runs = n
		if n > 1 && len(c.includeStack) > 1 {
			a.location(said).errorf(diagnostic.CodeCircle, "let the outer one have the runs",
				"a pipeline that is itself within one cannot have %d runs: only the outermost can repeat", n)
		}
	}
	node.Ref = name
	if node.Plan = c.embeddedPlan(name, at); node.Plan == nil {
		return nil
	}
	return node
}

// embeddedPlan compiles the pipeline that a node names, once for each file. It returns nil, having said why,
// if there is no usable one.
func (c *compiler) embeddedPlan(name string, at location) *plan.Plan {
	file, err := c.findPipeline(name, c.pipelineDir)
	var missing *NotFoundError
	if errors.As(err, &missing) {
		at.errorf(diagnostic.CodePipeline, missing.Hint(), "unknown pipeline %q", name)
		return nil
	}
	path := realPath(file)
	switch i := slices.IndexFunc(c.includeStack, func(o include) bool { return o.path == path }); {
	case i >= 0:
		at.errorf(diagnostic.CodeCircle, "take one of these nodes out", "pipelines embed each other in a circle: %s", c.includeChain(i, file))
		return nil
	case len(c.includeStack) == maxEmbedding:
		at.errorf(diagnostic.CodeCircle, "embed fewer", "pipelines embed each other more than %d files deep: %s", maxEmbedding, c.includeChain(0, file))
		return nil
	}
	p, known := c.embeddedPlans[path]
	if !known {
		p = c.embedFile(file)
		c.embeddedPlans[path] = p
	}
	return p
}

// embedFile compiles a file as it is embedded: by its own name, without what the command line says over
// the outermost file.
func (c *compiler) embedFile(file string) *plan.Plan {
	data, problem := c.ReadPipeline(file)
	if problem != "" {
		c.document(c.display(file)).Errorf(start, diagnostic.CodeRead, "", "%s", problem)
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

// includeChain names the open files from number i on, and file.
func (c *compiler) includeChain(i int, file string) string {
	var names []string
	for _, o := range c.includeStack[i:] {
		names = append(names, o.display)
	}
	return strings.Join(append(names, c.display(file)), " → ")
}

// checkNodeCount counts the nodes of a file, those that it embeds included. It returns false, having said why,
// if they are too many.
func (c *compiler) checkNodeCount(p *plan.Plan, m object) bool {
	total, embeds := len(p.Nodes), false
	for _, n := range p.Nodes {
		total += len(n.Stages)
		if n.Plan != nil {
			total, embeds = total+c.sizes[n.Plan], true
		}
	}
	c.sizes[p] = total
	if embeds && total > maxNodes {
		m.Errorf(m.node.Pos, diagnostic.CodeSize, "embed fewer pipelines", "the pipeline and those that it embeds have %d nodes, more than the %d allowed", total, maxNodes)
		return false
	}
	return true
}

// realPath is the path without symbolic links, or as it is if they cannot be followed.
func realPath(file string) string {
	if path, err := filepath.EvalSymlinks(file); err == nil {
		return path
	}
	return file
}
