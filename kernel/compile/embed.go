package compile

import (
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// A few small files that embed each other can have a huge number of nodes; these bounds limit the number.
const (
	maxEmbedding = 10     // files in a chain, the outermost included
	maxNodes     = 10_000 // nodes of a pipeline with all embedded pipelines
)

// ignoredOnPipelines are the keys of a stage that have no effect on a node that embeds a pipeline.
var ignoredOnPipelines = []string{
	"termination", "completion", "consensus", "min_iterations", "provider", "model", "context", "delay", "output_path",
}

// includeChain joins the names of the files being compiled, from number i on, and of file.
func includeChain(c *compiler, i int, file string) string {
	var names []string
	for _, o := range c.includeStack[i:] {
		names = append(names, o.display)
	}
	return strings.Join(append(names, c.Display(file)), " → ")
}

// checkNodeCount counts the nodes of a file and of its embedded pipelines. It returns false and reports a fault if a
// file with embedded pipelines has too many.
func checkNodeCount(c *compiler, p *plan.Plan, m dialect.Map) bool {
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
