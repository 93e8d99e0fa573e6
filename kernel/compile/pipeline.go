package compile

import (
	"maps"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// pipeline compiles the outermost pipeline file.
func (c *compiler) pipeline(file string, data []byte) (*Result, error) {
	return c.finish(c.outermostPlan(file, data))
}

// outermostPlan compiles the outermost pipeline file with the settings and overrides of the request.
func (c *compiler) outermostPlan(file string, data []byte) *plan.Plan {
	p := c.compileFile(file, data, c.flagPatterns())
	if p != nil {
		p.Pipeline.Commands = c.mergeCommands(p.Pipeline.Commands)
		c.fillCommands(p)
		c.setRunTimeout(p)
	}
	c.checkBlockOverrides()
	return p
}

// setRunTimeout replaces the time limit of the run by that of the command line.
func (c *compiler) setRunTimeout(p *plan.Plan) {
	if d := c.Overrides.Timeout; d > 0 {
		p.Pipeline.Guardrails = &plan.Guardrails{MaxRuntimeSeconds: d.Seconds(), Source: "--timeout"}
	}
}

// mergeCommands returns the commands of the settings, replaced by those of the pipeline; nil for none.
func (c *compiler) mergeCommands(pipeline map[string]string) map[string]string {
	if len(c.Defaults.Commands) == 0 {
		return pipeline
	}
	all := maps.Clone(c.Defaults.Commands)
	maps.Copy(all, pipeline)
	return all
}

// compileFile compiles the content of a pipeline file. more are initial inputs beside its own. It returns nil if
// there is no plan; the faults are reported.
func (c *compiler) compileFile(file string, data []byte, more []pattern) *plan.Plan {
	outer, outerText := c.pipelineDir, c.text
	c.pipelineDir, c.text, c.includeStack = sources.PipelineFolder(file), data, append(c.includeStack, include{realPath(file), c.Display(file)})
	defer func() {
		c.pipelineDir, c.text, c.includeStack = outer, outerText, c.includeStack[:len(c.includeStack)-1]
	}()
	p := c.newPlan(c.Display(file), data)
	m, ok := dialect.Parse(c.document(p.Source.Path), data)
	if !ok {
		return nil
	}
	m.CheckKeys(&dialect.Pipeline)
	p.Pipeline.Name = m.RequiredText("name")
	p.Pipeline.Description, _ = m.Text("description")
	p.Pipeline.Commands = m.Texts("commands")
	p.Pipeline.ExitAfter, _ = m.Text("exit_after")
	p.Pipeline.Policy = sources.ReadPolicy(m, sources.PipelinePolicy)
	outerMode := c.mode
	defer func() { c.mode = outerMode }()
	if p.Pipeline.Policy != nil {
		c.mode = plan.StricterMode(c.mode, p.Pipeline.Policy.Mode)
	}
	p.Pipeline.Guardrails = sources.RunLimit(m, sources.ReadGuardrails(m), p.Pipeline.Policy)
	p.Dependencies.Tmux = !sources.DeniesTmuxIn(m)
	patterns := readInitialPatterns(m)
	for _, pattern := range patterns {
		p.Pipeline.Inputs = append(p.Pipeline.Inputs, pattern.text)
	}
	p.Session.Inputs = c.initialInputs(append(patterns, more...))
	list := sources.ReadNodes(m)
	sources.CheckShares(m, list)
	f := newGraph(c, m, list)
	var approvals []sources.Approval
	p.Nodes, approvals = c.compileNodes(f, sources.ReadDefaults(m))
	f.check(p)
	p.Pipeline.Hooks = c.hooks(m, data, list, approvals)
	if !c.checkNodeCount(p, m) {
		return nil
	}
	return p
}

// compileNodes compiles the nodes in order and adds them to the graph. approvals are those of the nodes, by index.
func (c *compiler) compileNodes(f *graph, defaults sources.Settings) (nodes []plan.Node, approvals []sources.Approval) {
	nodes, approvals = []plan.Node{}, make([]sources.Approval, len(f.sources))
	list := sources.Outlines(f.sources)
	for i, a := range f.sources {
		var node *plan.Node
		if node, approvals[i] = c.compileNode(a, sources.Scope{Nodes: list, Node: i}, defaults); node != nil {
			node.Path, node.Transitions = strconv.Itoa(i), planEdges(f.edges[i])
			nodes = append(nodes, *node)
			f.nodes[i] = node
		}
	}
	return nodes, approvals
}
