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

// notOnPipelines are keys of a stage that mean nothing on a node that embeds a pipeline.
var notOnPipelines = []string{
	"termination", "completion", "consensus", "min_iterations", "provider", "model", "context", "delay", "output_path",
}

// opened is a pipeline file that is being compiled.
type opened struct {
	path  string // absolute, without symbolic links: the file's identity
	shown string // in messages
}

// embed compiles a node that stands for a whole pipeline.
func (c *compiler) embed(a authored, s scope) *plan.Node {
	a.idle(notOnPipelines, "a node that runs a pipeline", "say it in the pipeline")
	a.readIdle()
	for _, key := range []string{"artifact", "checks", "steps"} {
		a.refuse(key, "say it in the pipeline, on the node whose work it is", "its work is done by the nodes inside")
	}
	name, at := a.text("pipeline")
	if at.Node == nil {
		return nil
	}
	wants, node := a.demands(c.text), c.pipelineNode(a, s, name, a.place(at))
	if node != nil {
		wants.set(node)
	}
	return node
}

// pipelineNode is a node that stands for the pipeline with the name, which is said at a place; nil, having said why, if
// there is no usable one.
func (c *compiler) pipelineNode(a authored, s scope, name string, at place) *plan.Node {
	node := &plan.Node{ID: a.id, Kind: plan.KindPipeline, Runs: 1, Inputs: a.inputs(s), Policy: a.policy(ofNode), Guardrails: a.guardrails()}
	node.Description, _ = a.text("description")
	if n, said := a.count("runs"); said.Node != nil {
		node.Runs = n
		if n > 1 && len(c.open) > 1 {
			a.place(said).errorf(diagnostic.CodeCircle, "let the outer one have the runs",
				"a pipeline that is itself within one cannot have %d runs: only the outermost can repeat", n)
		}
	}
	node.Ref = name
	if node.Plan = c.embedded(name, at); node.Plan == nil {
		return nil
	}
	return node
}

// embedded compiles the pipeline that a node names, once for each file. It returns nil, having said why,
// if there is no usable one.
func (c *compiler) embedded(name string, at place) *plan.Plan {
	file, err := c.findPipeline(name, c.pipelineDir)
	var missing *NotFoundError
	if errors.As(err, &missing) {
		at.errorf(diagnostic.CodePipeline, missing.Hint(), "unknown pipeline %q", name)
		return nil
	}
	path := realPath(file)
	switch i := slices.IndexFunc(c.open, func(o opened) bool { return o.path == path }); {
	case i >= 0:
		at.errorf(diagnostic.CodeCircle, "take one of these nodes out", "pipelines embed each other in a circle: %s", c.chain(i, file))
		return nil
	case len(c.open) == maxEmbedding:
		at.errorf(diagnostic.CodeCircle, "embed fewer", "pipelines embed each other more than %d files deep: %s", maxEmbedding, c.chain(0, file))
		return nil
	}
	p, known := c.done[path]
	if !known {
		p = c.embedFile(file)
		c.done[path] = p
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
	p := c.file(file, data, nil)
	if p == nil {
		return nil
	}
	p.Session.Name, p.Pipeline.Overrides = p.Pipeline.Name, nil
	p.Dependencies.BD = needsQueue(p.Nodes)
	return p
}

// chain names the open files from number i on, and file.
func (c *compiler) chain(i int, file string) string {
	var names []string
	for _, o := range c.open[i:] {
		names = append(names, o.shown)
	}
	return strings.Join(append(names, c.display(file)), " → ")
}

// checkSize counts the nodes of a file, those that it embeds included. It returns false, having said why,
// if they are too many.
func (c *compiler) checkSize(p *plan.Plan, m mapping) bool {
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
