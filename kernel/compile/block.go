package compile

import (
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// ignoredOnBlocks are the keys of a stage that have no effect on the node of a block.
var ignoredOnBlocks = []string{
	"runs", "termination", "completion", "consensus", "min_iterations", "provider", "model", "context", "delay", "output_path",
}

// block is the value of the key parallel.
type block struct {
	dialect.Map
	providers []plan.BlockProvider
	stages    []plan.Node
}

// parallelNode compiles a parallel node.
func parallelNode(c *compiler, a sources.Node, s sources.Scope) *plan.Node {
	c.hasBlocks = true
	a.WarnIgnored(ignoredOnBlocks, "a parallel block", "write it on the stages of the block")
	a.CheckIgnored()
	sources.ReadRuns(a.Map)
	a.WarnIgnored([]string{"inputs"}, "a parallel block", "write it on the stages or the providers of the block")
	a.Refuse("artifact", "write it on the stages of the block", "each provider's stage makes its own")
	a.Refuse("checks", "write them on the stages of the block", "they measure the work of a stage")
	a.Refuse("steps", "write them on a node with a stage of its own", "its stages run as they are listed")
	node := &plan.Node{ID: a.ID, Kind: plan.KindParallel, Inputs: sources.ReadInputs(a.Map, s), Policy: sources.ReadPolicy(a.Map, sources.NodePolicy), Guardrails: sources.ReadGuardrails(a.Map)}
	sources.ReadRequirements(a.Map, c.text).ApplyTo(node)
	node.Description, _ = a.Text("description")
	inner, ok := a.MapAt("parallel")
	if !ok {
		return nil
	}
	inner.Label = "block " + strings.TrimPrefix(a.Label, a.Noun+" ")
	inner.CheckKeys(&dialect.Block)
	inner.WarnIgnored([]string{"failure_mode"}, "the run", "a block fails with any of its providers")
	node.FailureMode, _ = inner.Text("failure_mode")
	b := block{Map: inner}
	compileProviders(c, &b, s)
	compileStages(c, &b, s)
	checkModels(c, b)
	b.checkHiddenInputs()
	node.Providers, node.Stages = b.providers, b.stages
	return node
}

// requiredItems returns the items of a list and reports a fault if the list is missing or empty.
func (b block) requiredItems(key string) []*yamldoc.Node {
	items, ok := b.List(key)
	if len(items) == 0 && (ok || !b.Has(key)) {
		b.Errorf(b.Location(b.Get(key)).Pos, yamldoc.CodeMissing, "list at least one under "+key+":", "%s has no %s", b.Label, key)
	}
	return items
}

// blockProvider is a provider of a block with the locations of its names.
type blockProvider struct {
	plan.BlockProvider
	nameAt, idAt dialect.Location
}

// compileProviders compiles the providers, each a name or a map. The plan keeps the form as written.
func compileProviders(c *compiler, b *block, s sources.Scope) {
	first := map[string]dialect.Location{}
	for i, item := range b.requiredItems("providers") {
		p := b.provider(item, i, s.InBlock(sources.ProviderScope))
		if p.Name == "" {
			continue
		}
		if _, _, known := c.Catalog.Provider(p.Name); !known {
			p.nameAt.Errorf(yamldoc.CodeProvider, c.missingHint(sdk.KindProvider, p.Name, c.Catalog.Providers()), "unknown provider: %s", sources.Unquoted(p.Name))
		}
		checkMode(c, p.Name, p.nameAt)
		refuseCommandProvider(p.Name, p.nameAt)
		b.checkBranchName(p, first)
		b.providers = append(b.providers, p.BlockProvider)
	}
}

// checkBranchName checks the provider's name in the block. first holds the names of earlier providers.
func (b block) checkBranchName(p blockProvider, first map[string]dialect.Location) {
	id := p.ID()
	if fault := branchNameFault(id); fault != "" {
		p.idAt.Errorf(yamldoc.CodeIdentifier, "write a plain name: a directory is named after it", "provider %q of %s %s", id, b.Label, fault)
	}
	folded := strings.ToLower(id) // some file systems ignore case
	if at, twice := first[folded]; twice {
		p.idAt.Errorf(yamldoc.CodeRepeated, fmt.Sprintf("give it a name of its own: {name: %s, as: second}", p.Name),
			"provider %q is repeated in %s, first in line %d", id, b.Label, at.Pos.Line)
		return
	}
	first[folded] = p.idAt
}

// branchNameFault returns the fault of a provider's name in a block; "" for none. Beyond [sources.NameFault] it
// refuses "-", which keys of events reserve.
func branchNameFault(id string) string {
	if id == "-" {
		return "is reserved"
	}
	return sources.NameFault(id)
}

// provider reads one provider of a block. The name is "" if it is invalid; the fault is reported.
func (b block) provider(n *yamldoc.Node, number int, s sources.Scope) blockProvider {
	var p blockProvider
	noun := fmt.Sprintf("provider %d of %s", number+1, b.Label)
	switch n.Kind {
	case yamldoc.Text:
		p.Name = dialect.TrimNewlines(n.Source)
		p.nameAt = b.At(n.Pos)
		p.idAt = p.nameAt
		if p.Name == "" {
			p.nameAt.Errorf(yamldoc.CodeMissing, "write the name of a provider", "%s has no name", noun)
		}
	case yamldoc.Map:
		m := b.Nested(n, noun)
		m.Decode(&dialect.BlockProvider, &p.BlockProvider)
		p.nameAt, p.idAt, p.Inputs = m.Location(m.Get("name")), m.Location(m.Get("as", "name")), sources.ReadInputs(m, s)
	default:
		b.WrongItem(n, noun, "a name or a map")
	}
	return p
}

// compileStages compiles the stages of the block.
func compileStages(c *compiler, b *block, s sources.Scope) {
	var list []sources.Node
	for i, item := range b.requiredItems("stages") {
		if item.Kind != yamldoc.Map {
			b.WrongItem(item, "a stage of "+b.Label, "a map")
			continue
		}
		list = append(list, sources.NewNode(b.Document, item, "stage", i, " of "+b.Label))
	}
	sources.CheckRepeated(list)
	for _, a := range list {
		if stage := compileStage(c, a, s.InBlock(a.Index)); stage != nil {
			stage.Path = fmt.Sprintf("%d.%d", s.Node, a.Index)
			b.stages = append(b.stages, *stage)
		}
	}
}

// compileStage compiles one stage of a block. Provider and model of its stage.yaml are ignored: the block names the
// providers.
func compileStage(c *compiler, a sources.Node, s sources.Scope) *plan.Node {
	a.CheckCommon()
	a.Refuse("provider", "name it under providers: of the block", "the block's providers run it")
	a.Refuse("parallel", "split it into sequential blocks", "nested parallel blocks are not supported")
	a.Refuse("pipeline", "make it a node of its own", "a block runs stages only")
	a.Refuse("transitions", "write them on the block", "edges lead from node to node")
	a.Refuse("steps", "make it a node of its own", "a block runs its stages as they are listed")
	if refuseWrapping(c, a) {
		return nil
	}
	node := &plan.Node{ID: a.ID, Kind: plan.KindStage, Inputs: sources.ReadInputs(a.Map, s), Policy: sources.ReadPolicy(a.Map, sources.StagePolicy)}
	if !a.Has("stage", "loop", "prompt") {
		if !a.Has("parallel", "pipeline") {
			a.ReportEmpty("add stage: or prompt:")
		}
		return nil
	}
	nodeSettings, stage, ok := stageWork(c, node, a)
	if !ok {
		return nil
	}
	a.RefuseApproval(nodeSettings.Approval, stage.Approval)
	a.RefuseRequirements(stage.Requirements)
	node.Model = nodeSettings.Model
	return node
}

// checkModels warns if several providers, or none, get the model of a stage.
func checkModels(c *compiler, b block) {
	var takers []string
	for _, p := range b.providers {
		if p.Model == "" {
			takers = append(takers, canonicalProvider(c, p.Name))
		}
	}
	takers = dialect.SortedUnique(takers)
	items, _ := b.List("stages")
	for _, item := range items {
		m := b.Nested(item, "model")
		model, at := m.Text("model")
		switch {
		case at.Node == nil || len(takers) == 1 || len(b.providers) == 0:
		case len(takers) == 0:
			m.Warnf(at.Pos, yamldoc.CodeNoEffect, "remove it", "model %q has no effect: each provider of %s has its own", model, b.Label)
		default:
			m.Warnf(at.Pos, yamldoc.CodeMismatch, "name the models beside the providers: {name: "+takers[0]+", model: …}",
				"model %q goes to %s", model, strings.Join(takers, " and "))
		}
	}
}

// checkHiddenInputs warns of inputs of a stage that a provider's inputs replace.
func (b block) checkHiddenInputs() {
	items, _ := b.List("stages")
	for _, item := range items {
		inner, ok := b.Nested(item, "inputs").MapAt("inputs")
		if !ok {
			continue
		}
		for _, e := range inner.Node.Entries {
			for _, p := range b.providers {
				if _, hides := p.Inputs[e.Key]; hides {
					inner.Warnf(e.KeyPos, yamldoc.CodeNoEffect, "write it in one of the two places",
						"inputs.%s has no effect for provider %q, which has its own", e.Key, p.ID())
				}
			}
		}
	}
}

// checkBlockOverrides warns of overrides without effect on blocks, whose providers the file names.
func checkBlockOverrides(c *compiler) {
	for _, over := range []struct{ name, value string }{
		{c.OverrideLabel("provider"), c.Overrides.Provider},
		{c.OverrideLabel("model"), c.Overrides.Model},
		{"CLAUDE_PIPELINE_PROVIDER", c.Env.Provider},
		{"CLAUDE_PIPELINE_MODEL", c.Env.Model},
	} {
		if at := c.externalLocation(over.name); over.value != "" && c.hasBlocks {
			at.Warnf(yamldoc.CodeNoEffect, "change the file", "%q has no effect on parallel blocks", over.value)
		}
	}
}
