package compile

import (
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// notOnBlocks are keys of a stage that mean nothing on the node of a block.
var notOnBlocks = []string{
	"runs", "termination", "completion", "consensus", "min_iterations", "provider", "model", "context", "delay", "output_path",
}

// block is the authored inside of a parallel node.
type block struct {
	mapping
	providers []plan.BlockProvider
	stages    []plan.Node
}

// parallel compiles a parallel node.
func (c *compiler) parallel(a authored, s scope) *plan.Node {
	c.blocks = true
	a.idle(notOnBlocks, "a parallel block", "say it on the stages of the block")
	a.readIdle()
	a.runs()
	a.idle([]string{"inputs"}, "a parallel block", "say it on the stages or the providers of the block")
	a.refuse("artifact", "say it on the stages of the block", "each provider's stage puts out its own")
	a.refuse("checks", "say them on the stages of the block", "they measure the work of a stage")
	a.refuse("steps", "write them on a node with a stage of its own", "its stages run as they are listed")
	node := &plan.Node{ID: a.id, Kind: plan.KindParallel, Inputs: a.inputs(s), Policy: a.policy(ofNode), Guardrails: a.guardrails()}
	a.demands(c.text).set(node)
	node.Description, _ = a.text("description")
	inner, ok := a.mapping.mapping("parallel")
	if !ok {
		return nil
	}
	inner.what = "block " + strings.TrimPrefix(a.what, a.noun+" ")
	inner.unknown(&dialect.Block)
	inner.idle([]string{"failure_mode"}, "the run", "a block fails with any of its providers")
	node.FailureMode, _ = inner.text("failure_mode")
	b := block{mapping: inner}
	c.blockProviders(&b, s)
	c.blockStages(&b, s)
	c.checkModels(b)
	b.checkHidden()
	node.Providers, node.Stages = b.providers, b.stages
	return node
}

// readIdle reads what has no effect on a node that runs no stage: a value of the wrong type is told all the same.
func (a authored) readIdle() {
	for _, key := range []string{"provider", "model", "context", "output_path"} {
		_, _ = a.text(key)
	}
	_, _ = a.atLeast(0, "delay")
	_ = a.termination()
}

// items is a list that must be there and hold something.
func (b block) items(key string) []*yamldoc.Node {
	items, ok := b.list(key)
	if len(items) == 0 && (ok || !b.has(key)) {
		b.Errorf(b.place(b.get(key)).at, diagnostic.CodeMissing, "list at least one under "+key+":", "%s has no %s", b.what, key)
	}
	return items
}

// blockProvider is a provider of a block and where it is named.
type blockProvider struct {
	plan.BlockProvider
	nameAt, idAt place
}

// blockProviders compiles the providers, each a name or a map. The plan keeps the form.
func (c *compiler) blockProviders(b *block, s scope) {
	first := map[string]place{}
	for i, item := range b.items("providers") {
		p := b.provider(item, i, s.in(ofProvider))
		if p.Name == "" {
			continue
		}
		if _, _, known := c.Catalog.Provider(p.Name); !known {
			p.nameAt.errorf(diagnostic.CodeProvider, c.missing(sdk.KindProvider, p.Name, c.Catalog.Providers()), "unknown provider: %s", plainly(p.Name))
		}
		c.checkMode(p.Name, p.nameAt)
		checkPrompts(p.Name, p.nameAt)
		b.checkBranch(p, first)
		b.providers = append(b.providers, p.BlockProvider)
	}
}

// checkBranch checks the name that the provider has in the block; first are those of the earlier ones.
func (b block) checkBranch(p blockProvider, first map[string]place) {
	id := p.ID()
	if wrong := branchName(id); wrong != "" {
		p.idAt.errorf(diagnostic.CodeIdentifier, "names of providers become directory names", "provider %q of %s %s", id, b.what, wrong)
	}
	folded := strings.ToLower(id) // on some file systems, case alone does not tell directories apart
	if at, twice := first[folded]; twice {
		p.idAt.errorf(diagnostic.CodeRepeated, fmt.Sprintf("give it a name of its own: {name: %s, as: second}", p.Name),
			"provider %q stands twice in %s, first in line %d", id, b.what, at.at.Line)
		return
	}
	first[folded] = p.idAt
}

// branchName is validName with what the keys of events need, too.
func branchName(id string) string {
	if id == "-" {
		return "is a word of ours"
	}
	return validName(id)
}

// provider reads one provider of a block. It has no name, and the reason is said, if it is none.
func (b block) provider(n *yamldoc.Node, number int, s scope) blockProvider {
	var p blockProvider
	what := fmt.Sprintf("provider %d of %s", number+1, b.what)
	switch n.Kind {
	case yamldoc.Text:
		p.Name = trimmed(n.Source)
		p.nameAt = place{b.document, n.Pos}
		p.idAt = p.nameAt
		if p.Name == "" {
			p.nameAt.errorf(diagnostic.CodeMissing, "write the name of a provider", "%s has no name", what)
		}
	case yamldoc.Map:
		m := mapping{b.document, n, what}
		m.unknown(&dialect.BlockProvider)
		p.Name, p.nameAt, p.idAt = m.required("name"), m.place(m.get("name")), m.place(m.get("as", "name"))
		p.As, _ = m.text("as")
		p.Model, _ = m.text("model")
		p.Inputs, p.Object = m.inputs(s), true
	default:
		b.wrongType(value{n, what}, "a name or a map")
	}
	return p
}

// blockStages compiles the stages that every provider runs.
func (c *compiler) blockStages(b *block, s scope) {
	var list []authored
	for i, item := range b.items("stages") {
		if item.Kind != yamldoc.Map {
			b.wrongType(value{item, "a stage of " + b.what}, "a map")
			continue
		}
		list = append(list, newAuthored(b.document, item, "stage", i, " of "+b.what))
	}
	checkRepeated(list)
	for _, a := range list {
		if stage := c.blockStage(a, s.in(a.number)); stage != nil {
			stage.Path = fmt.Sprintf("%d.%d", s.at, a.number)
			b.stages = append(b.stages, *stage)
		}
	}
}

// blockStage compiles one stage of a block. Its providers are the block's; the stage.yaml's provider and
// model do not count here.
func (c *compiler) blockStage(a authored, s scope) *plan.Node {
	a.common()
	a.refuse("provider", "name it under providers: of the block", "the block's providers run it")
	a.refuse("parallel", "split it into sequential blocks", "nested parallel blocks are not supported")
	a.refuse("pipeline", "make it a node of its own", "a block runs stages only")
	a.refuse("transitions", "say them on the block", "edges lead from node to node")
	a.refuse("steps", "make it a node of its own", "a block runs its stages as they are listed")
	if c.refuseWrapping(a) {
		return nil
	}
	node := &plan.Node{ID: a.id, Kind: plan.KindStage, Inputs: a.inputs(s), Policy: a.policy(ofStage)}
	if !a.has("stage", "loop", "prompt") {
		if !a.has("parallel", "pipeline") {
			a.nothing("add stage: or prompt:")
		}
		return nil
	}
	own, stage, ok := c.work(node, a)
	if !ok {
		return nil
	}
	a.refuseApproval(own.approval, stage.approval)
	a.refuseDemands(stage.demands)
	node.Model = own.model
	return node
}

// refuse reports a key that something cannot have, such as a stage of a block.
func (m mapping) refuse(key, hint, why string) {
	if m.has(key) {
		m.Errorf(m.key(key), diagnostic.CodeConflict, hint, "%s cannot have %s: %s", m.what, key, why)
	}
}

// checkModels warns where the model of a stage goes to providers of different kinds, or to none.
func (c *compiler) checkModels(b block) {
	var takers []string
	for _, p := range b.providers {
		if p.Model == "" {
			takers = append(takers, c.canonical(p.Name))
		}
	}
	takers = sortedUnique(takers)
	items, _ := b.list("stages")
	for _, item := range items {
		m := mapping{b.document, item, "model"}
		model, at := m.text("model")
		switch {
		case at.Node == nil || len(takers) == 1 || len(b.providers) == 0:
		case len(takers) == 0:
			m.Warnf(at.Pos, diagnostic.CodeNoEffect, "remove it", "model %q has no effect: each provider of %s names its own", model, b.what)
		default:
			m.Warnf(at.Pos, diagnostic.CodeMismatch, "name the models beside the providers: {name: "+takers[0]+", model: …}",
				"model %q goes to %s", model, strings.Join(takers, " and "))
		}
	}
}

// checkHidden warns of inputs of a stage that a provider's own go before.
func (b block) checkHidden() {
	items, _ := b.list("stages")
	for _, item := range items {
		inner, ok := (mapping{b.document, item, "inputs"}).mapping("inputs")
		if !ok {
			continue
		}
		for _, e := range inner.node.Entries {
			for _, p := range b.providers {
				if _, hides := p.Inputs[e.Key]; hides {
					inner.Warnf(e.KeyPos, diagnostic.CodeNoEffect, "say it in one of the two places",
						"inputs.%s has no effect for provider %q, whose own wins", e.Key, p.ID())
				}
			}
		}
	}
}

// checkReach warns of overrides that blocks do not take: their providers are named in the file.
func (c *compiler) checkReach() {
	for _, over := range []struct{ name, word string }{
		{"--provider", c.Overrides.Provider},
		{"--model", c.Overrides.Model},
		{"CLAUDE_PIPELINE_PROVIDER", c.Env.Provider},
		{"CLAUDE_PIPELINE_MODEL", c.Env.Model},
	} {
		if at := c.outside(over.name); over.word != "" && c.blocks {
			at.Warnf(at.at, diagnostic.CodeNoEffect, "change the file", "%q does not reach into parallel blocks", over.word)
		}
	}
}
