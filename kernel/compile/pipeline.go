package compile

import (
	"maps"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// pipeline compiles the bytes of the pipeline file that the request names.
func (c *compiler) pipeline(file string, data []byte) (*Result, error) {
	return c.finish(c.outermost(file, data))
}

// outermost compiles the pipeline file that the request names, over what the files of settings say.
func (c *compiler) outermost(file string, data []byte) *plan.Plan {
	p := c.file(file, data, c.flagPatterns())
	if p != nil {
		p.Pipeline.Commands = c.commands(p.Pipeline.Commands)
		c.fillCommands(p)
		c.limitRun(p)
	}
	c.checkReach()
	return p
}

// limitRun puts the time that the command line gives to the run over what the file says.
func (c *compiler) limitRun(p *plan.Plan) {
	if d := c.Overrides.Timeout; d > 0 {
		p.Pipeline.Guardrails = &plan.Guardrails{MaxRuntimeSeconds: d.Seconds(), At: "--timeout"}
	}
}

// commands are those of the settings with the pipeline's over them, nil for none.
func (c *compiler) commands(pipeline map[string]string) map[string]string {
	if len(c.Defaults.Commands) == 0 {
		return pipeline
	}
	all := maps.Clone(c.Defaults.Commands)
	maps.Copy(all, pipeline)
	return all
}

// file compiles the bytes of a pipeline file. more are initial inputs beside its own. It returns nil,
// having said why, where there is nothing to compile.
func (c *compiler) file(file string, data []byte, more []pattern) *plan.Plan {
	outer, outerText := c.pipelineDir, c.text
	c.pipelineDir, c.text, c.open = folderOf(file), data, append(c.open, opened{realPath(file), c.display(file)})
	defer func() { c.pipelineDir, c.text, c.open = outer, outerText, c.open[:len(c.open)-1] }()
	p := c.head(c.display(file), data)
	m, ok := parse(c.document(p.Source.Path), data)
	if !ok {
		return nil
	}
	m.unknown(&dialect.Pipeline)
	p.Pipeline.Name = m.required("name")
	p.Pipeline.Description, _ = m.text("description")
	p.Pipeline.Commands = m.texts("commands")
	p.Pipeline.ExitAfter, _ = m.text("exit_after")
	p.Pipeline.Policy = m.policy(ofPipeline)
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
	list := m.authored()
	m.checkShares(list)
	f := newFlow(c, m, list)
	var asks []approval
	p.Nodes, asks = c.nodes(f, m.defaults())
	f.check(p)
	p.Pipeline.Hooks = c.hooks(m, data, list, asks)
	if !c.checkSize(p, m) {
		return nil
	}
	return p
}

// required returns a text that must be there.
func (m mapping) required(key string) string {
	text, at := m.text(key)
	if v := m.get(key); at.Node == nil && (v.Node == nil || v.Kind == yamldoc.Text) {
		m.Errorf(m.node.Pos, diagnostic.CodeMissing, "add "+key+":", "%s has no %s", m.what, key)
	}
	return text
}

func (m mapping) defaults() settings {
	inner, ok := m.mapping("defaults")
	if !ok {
		return settings{}
	}
	inner.unknown(&dialect.Defaults)
	s := settings{mapping: inner}
	provider, at := inner.text("provider")
	s.provider, s.providerAt = provider, inner.place(at)
	s.model, _ = inner.text("model")
	return s
}

func (m mapping) initialPatterns() []pattern {
	items, _ := m.list("inputs")
	var patterns []pattern
	for _, item := range items {
		if item.Kind == yamldoc.List || item.Kind == yamldoc.Map || item.Kind == yamldoc.Null {
			m.wrongType(value{item, "an initial input"}, "text")
			continue
		}
		patterns = append(patterns, pattern{item.Source, place{m.document, item.Pos}})
	}
	return patterns
}

func (c *compiler) flagPatterns() []pattern {
	var patterns []pattern
	for _, text := range c.Overrides.Inputs {
		patterns = append(patterns, pattern{text, c.outside("--input")})
	}
	return patterns
}

// authored are the nodes as they stand in the file.
func (m mapping) authored() []authored {
	items, _ := m.nodeList()
	list := make([]authored, 0, len(items))
	for i, item := range items {
		if item.Kind != yamldoc.Map {
			m.wrongType(value{item, "a node"}, "a map")
			continue
		}
		list = append(list, newAuthored(m.document, item, "node", i, ""))
	}
	checkRepeated(list)
	return list
}

// nodes compiles the list of nodes, in list order, and lets the flow have them. asks is what each item of the list says
// of a person's approval.
func (c *compiler) nodes(f *flow, defaults settings) (nodes []plan.Node, asks []approval) {
	nodes, asks = []plan.Node{}, make([]approval, len(f.list))
	around := outlines(f.list)
	for i, a := range f.list {
		var node *plan.Node
		if node, asks[i] = c.node(a, scope{nodes: around, at: i}, defaults); node != nil {
			node.Path, node.Transitions = strconv.Itoa(i), planned(f.edges[i])
			nodes = append(nodes, *node)
			f.nodes[i] = node
		}
	}
	return nodes, asks
}

// nodeList returns the items of nodes, or of its old name stages.
func (m mapping) nodeList() ([]*yamldoc.Node, bool) {
	key := "nodes"
	if old := m.key("stages"); old.Line > 0 {
		if !m.has("nodes") && m.node.Get("nodes") == nil {
			key = "stages"
			name, _ := m.text("name")
			m.Warnf(old, diagnostic.CodeDeprecated, "", "Pipeline '%s' uses deprecated 'stages' key at line %d. Rename to 'nodes'.", name, old.Line)
		} else {
			m.Warnf(old, diagnostic.CodeNoEffect, "remove stages:", "stages has no effect beside nodes")
		}
	}
	items, ok := m.list(key)
	switch {
	case !ok && !m.has(key):
		m.Errorf(m.node.Pos, diagnostic.CodeMissing, "add nodes:", "%s has no nodes", m.what)
	case ok && len(items) == 0:
		m.Warnf(m.get(key).Pos, diagnostic.CodeNoNodes, "add a node", "the pipeline has no nodes and completes at once")
	}
	return items, ok
}

// key is the place of a key itself, the zero place if it is absent.
func (m mapping) key(key string) yamldoc.Pos {
	for _, e := range m.node.Entries {
		if e.Key == key {
			return e.KeyPos
		}
	}
	return yamldoc.Pos{}
}
