package compile

import (
	"maps"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
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
	c.pipelineDir, c.text, c.includeStack = pipelineFolder(file), data, append(c.includeStack, include{realPath(file), c.Display(file)})
	defer func() {
		c.pipelineDir, c.text, c.includeStack = outer, outerText, c.includeStack[:len(c.includeStack)-1]
	}()
	p := c.newPlan(c.Display(file), data)
	m, ok := parse(c.document(p.Source.Path), data)
	if !ok {
		return nil
	}
	m.checkKeys(&dialect.Pipeline)
	p.Pipeline.Name = m.requiredText("name")
	p.Pipeline.Description, _ = m.text("description")
	p.Pipeline.Commands = m.texts("commands")
	p.Pipeline.ExitAfter, _ = m.text("exit_after")
	p.Pipeline.Policy = m.policy(pipelinePolicy)
	outerMode := c.mode
	defer func() { c.mode = outerMode }()
	if p.Pipeline.Policy != nil {
		c.mode = plan.StricterMode(c.mode, p.Pipeline.Policy.Mode)
	}
	p.Pipeline.Guardrails = m.runLimit(m.guardrails(), p.Pipeline.Policy)
	p.Dependencies.Tmux = !m.noTmux()
	patterns := m.initialPatterns()
	for _, pattern := range patterns {
		p.Pipeline.Inputs = append(p.Pipeline.Inputs, pattern.text)
	}
	p.Session.Inputs = c.initialInputs(append(patterns, more...))
	list := m.nodeSources()
	m.checkShares(list)
	f := newGraph(c, m, list)
	var approvals []approval
	p.Nodes, approvals = c.compileNodes(f, m.defaults())
	f.check(p)
	p.Pipeline.Hooks = c.hooks(m, data, list, approvals)
	if !c.checkNodeCount(p, m) {
		return nil
	}
	return p
}

// requiredText returns a text that must be present.
func (m object) requiredText(key string) string {
	text, at := m.text(key)
	if v := m.get(key); at.Node == nil && (v.Node == nil || v.Kind == yamldoc.Text) {
		m.Errorf(m.node.Pos, yamldoc.CodeMissing, "add "+key+":", "%s has no %s", m.label, key)
	}
	return text
}

func (m object) defaults() settings {
	inner, ok := m.objectAt("defaults")
	if !ok {
		return settings{}
	}
	inner.checkKeys(&dialect.Defaults)
	s := settings{object: inner}
	provider, at := inner.text("provider")
	s.provider, s.providerAt = provider, inner.location(at)
	s.model, _ = inner.text("model")
	return s
}

func (m object) initialPatterns() []pattern {
	items, _ := m.list("inputs")
	var patterns []pattern
	for _, item := range items {
		if item.Kind == yamldoc.List || item.Kind == yamldoc.Map || item.Kind == yamldoc.Null {
			m.wrongType(value{item, "an initial input"}, "text")
			continue
		}
		patterns = append(patterns, pattern{item.Source, location{m.document, item.Pos}})
	}
	return patterns
}

func (c *compiler) flagPatterns() []pattern {
	var patterns []pattern
	for _, text := range c.Overrides.Inputs {
		patterns = append(patterns, pattern{text, c.externalLocation("--input")})
	}
	return patterns
}

// nodeSources returns the nodes as written.
func (m object) nodeSources() []nodeSource {
	items, _ := m.nodeItems()
	list := make([]nodeSource, 0, len(items))
	for i, item := range items {
		if item.Kind != yamldoc.Map {
			m.wrongType(value{item, "a node"}, "a map")
			continue
		}
		list = append(list, newNodeSource(m.document, item, "node", i, ""))
	}
	checkRepeated(list)
	return list
}

// compileNodes compiles the nodes in order and adds them to the graph. approvals are those of the nodes, by index.
func (c *compiler) compileNodes(f *graph, defaults settings) (nodes []plan.Node, approvals []approval) {
	nodes, approvals = []plan.Node{}, make([]approval, len(f.sources))
	list := outlines(f.sources)
	for i, a := range f.sources {
		var node *plan.Node
		if node, approvals[i] = c.compileNode(a, inputScope{nodes: list, node: i}, defaults); node != nil {
			node.Path, node.Transitions = strconv.Itoa(i), planEdges(f.edges[i])
			nodes = append(nodes, *node)
			f.nodes[i] = node
		}
	}
	return nodes, approvals
}

// nodeItems returns the items of nodes, or of the deprecated key stages.
func (m object) nodeItems() ([]*yamldoc.Node, bool) {
	key := "nodes"
	if old := m.keyPos("stages"); old.Line > 0 {
		if !m.has("nodes") && m.node.Get("nodes") == nil {
			key = "stages"
			name, _ := m.text("name")
			m.Warnf(old, yamldoc.CodeDeprecated, "", "Pipeline '%s' uses deprecated 'stages' key at line %d. Rename to 'nodes'.", name, old.Line)
		} else {
			m.Warnf(old, yamldoc.CodeNoEffect, "remove stages:", "stages has no effect beside nodes")
		}
	}
	items, ok := m.list(key)
	switch {
	case !ok && !m.has(key):
		m.Errorf(m.node.Pos, yamldoc.CodeMissing, "add nodes:", "%s has no nodes", m.label)
	case ok && len(items) == 0:
		m.Warnf(m.get(key).Pos, yamldoc.CodeNoNodes, "add a node", "the pipeline has no nodes and completes at once")
	}
	return items, ok
}

// keyPos returns the position of a key itself; the zero Pos if it is absent.
func (m object) keyPos(key string) yamldoc.Pos {
	for _, e := range m.node.Entries {
		if e.Key == key {
			return e.KeyPos
		}
	}
	return yamldoc.Pos{}
}
