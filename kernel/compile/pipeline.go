package compile

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// pipeline compiles the outermost pipeline file.
func (c *compiler) pipeline(file string, data []byte) (*Result, error) {
	return c.finish(c.outermostPlan(file, data))
}

// outermostPlan compiles the outermost pipeline file with the settings and overrides of the request.
func (c *compiler) outermostPlan(file string, data []byte) *plan.Plan {
	p := c.compileFile(file, data, flagPatterns(c))
	if p != nil {
		p.Pipeline.Commands = mergeCommands(c, p.Pipeline.Commands)
		fillCommands(c, p, p, "")
		setRunTimeout(c, p)
	}
	checkBlockOverrides(c)
	return p
}

// setRunTimeout replaces the time limit of the run by the one of the command line, if it is set.
func setRunTimeout(c *compiler, p *plan.Plan) {
	if seconds := c.Overrides.Timeout; seconds > 0 {
		p.Pipeline.Guardrails = &plan.Guardrails{MaxRuntimeSeconds: seconds, Source: c.OverrideLabel("timeout")}
	}
}

// mergeCommands returns the commands of the configuration files and of the pipeline; nil for none. Those of the
// pipeline win.
func mergeCommands(c *compiler, pipeline map[string]string) map[string]string {
	if len(c.Defaults.Commands) == 0 {
		return pipeline
	}
	all := maps.Clone(c.Defaults.Commands)
	maps.Copy(all, pipeline)
	return all
}

// compileFile compiles the content of a pipeline file. more are patterns of further initial inputs. The plan is nil
// if the file cannot be compiled; the faults are reported.
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
	m.Decode(&dialect.Pipeline, &p.Pipeline, "name", "description", "commands", "exit_after")
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
	p.Session.Inputs = initialInputs(c, append(patterns, more...))
	list := sources.ReadNodes(m)
	sources.CheckShares(m, list)
	f := newGraph(c, m, list)
	var approvals []sources.Approval
	p.Nodes, approvals = c.compileNodes(f, sources.ReadDefaults(m))
	f.check(p)
	p.Pipeline.Hooks = hookCompiler{c, data, list}.compile(m, approvals)
	if !checkNodeCount(c, p, m) {
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

// compileNode compiles one node and returns its approval. The node is nil if it cannot be compiled; the faults are
// reported.
func (c *compiler) compileNode(a sources.Node, s sources.Scope, defaults sources.Settings) (*plan.Node, sources.Approval) {
	a.CheckCommon()
	if w, st, wraps := resolveWraps(c, a); wraps {
		return c.wrapsNode(a, s, w, st)
	}
	if a.Has("wraps") { // wraps has the wrong type
		return nil, sources.Approval{}
	}
	switch a.Kind() {
	case plan.KindStage:
		return c.stageNode(a, s, defaults)
	case plan.KindParallel:
		return parallelNode(c, a, s), sources.ReadApproval(a.Map)
	case plan.KindPipeline:
		return c.embedNode(a, s), sources.ReadApproval(a.Map)
	default:
		return nil, sources.Approval{}
	}
}

// stageNode compiles a node that runs a stage or a prompt.
func (c *compiler) stageNode(a sources.Node, s sources.Scope, defaults sources.Settings) (*plan.Node, sources.Approval) {
	node := &plan.Node{ID: a.ID, Kind: plan.KindStage, Inputs: sources.ReadInputs(a.Map, s), Policy: sources.ReadPolicy(a.Map, sources.NodePolicy), Steps: a.Steps()}
	nodeSettings, stage, ok := stageWork(c, node, a)
	if !ok {
		return nil, nodeSettings.Approval
	}
	node.Provider = resolveProvider(c, nodeSettings, stage.Settings, defaults)
	sources.ReadRequirements(a.Map, c.text).WithDefaults(stage.Requirements).ApplyTo(node)
	return node, nodeSettings.Approval.WithDefault(stage.Approval)
}

// wrapsNode compiles a node that wraps a pipeline or a command. The node is nil if it cannot be compiled; the faults
// are reported.
func (c *compiler) wrapsNode(a sources.Node, s sources.Scope, w sources.Wraps, st *sources.Stage) (*plan.Node, sources.Approval) {
	nodeSettings := sources.ReadSettings(a.Map)
	if st == nil && a.Has("stage", "loop") {
		findNodeStage(c, a) // reports the fault
		return nil, nodeSettings.Approval
	}
	var stage sources.Stage
	if st != nil {
		stage = *st
	}
	approval := nodeSettings.Approval.WithDefault(stage.Approval)
	a.RefuseWrapsConflicts(w)
	node := c.wrappedNode(a, s, w)
	if node == nil {
		return nil, approval
	}
	node.Description = cmp.Or(nodeSettings.Description, stage.Description)
	node.Guardrails = cmp.Or(nodeSettings.Guardrails, stage.Guardrails)
	node.Wraps = toPlan(w, c)
	node.Commands, node.Role = stage.Commands, stage.Role
	sources.ReadRequirements(a.Map, c.text).WithDefaults(stage.Requirements).ApplyTo(node)
	contract := sources.ReadArtifact(a.Map, c.readBesidePipeline).WithDefaults(stage.Artifact)
	node.Checks = mergeChecks(c, a, st)
	contract.CheckKernelFields(node.Checks)
	node.Artifact = wrapsArtifact(contract.Artifact)
	if node.Kind == plan.KindStage {
		node.OutputPath, node.Ref = cmp.Or(nodeSettings.OutputPath, stage.OutputPath), stage.Dir.Name
		c.wrapsLocations[node.Wraps] = w.RunAt
	}
	return node, approval
}

// wrappedNode returns the node that runs the wrapped pipeline or command. It returns nil and reports a fault if there
// is neither.
func (c *compiler) wrappedNode(a sources.Node, s sources.Scope, w sources.Wraps) *plan.Node {
	switch {
	case w.Pipeline != "":
		return c.pipelineNode(a, s, w.Pipeline, w.PipelineAt)
	case w.Run == "":
		w.Errorf(w.Node.Pos, yamldoc.CodeMissing, "add pipeline: <name>, or run: <command>", "%s has neither a pipeline nor a command", w.Label)
		return nil
	}
	if _, _, ok := c.Catalog.Provider(plan.ProviderCommand); !ok {
		w.RunAt.Errorf(yamldoc.CodeProvider, c.missingHint(sdk.KindProvider, plan.ProviderCommand, c.Catalog.Providers()), "wraps needs the provider %q, which no plugin has", plan.ProviderCommand)
	}
	return &plan.Node{
		ID: a.ID, Kind: plan.KindStage, Inputs: sources.ReadInputs(a.Map, s), Policy: sources.ReadPolicy(a.Map, sources.NodePolicy), Provider: &plan.Provider{Type: plan.ProviderCommand},
		Termination: plan.Termination{"type": plan.TypeFixed, "max": 1},
	}
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

// pipelineNode returns a node that embeds the named pipeline. It returns nil and reports a fault if the pipeline is
// not usable; at is the location of the name.
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
// there is no usable pipeline.
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
		at.Errorf(yamldoc.CodeCycle, "remove one of these nodes", "pipelines embed each other in a circle: %s", includeChain(c, i, file))
		return nil
	case len(c.includeStack) == maxEmbedding:
		at.Errorf(yamldoc.CodeCycle, "embed fewer pipelines", "pipelines embed each other more than %d files deep: %s", maxEmbedding, includeChain(c, 0, file))
		return nil
	}
	p, known := c.embeddedPlans[path]
	if !known {
		p = c.embedFile(file)
		c.embeddedPlans[path] = p
	}
	return p
}

// embedFile compiles an embedded file. The pipeline's name is the plan's session name, and the plan records no
// overrides.
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
