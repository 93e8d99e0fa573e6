package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// onKeys are the keys that other dialects use for transitions: YAML 1.1 reads on as true.
var onKeys = []string{"on", "true"}

// nodeSource is a node, or a stage of a block, as written.
type nodeSource struct {
	object
	noun  string // "node" or "stage"
	index int    // in its list, from 0
	id    string
	idAt  location
}

// newNodeSource reads the id of item number index of a list of nodes, or of the stages of a block. Messages use
// the number for an item without an id. suffix names the owner of the list; "" for the pipeline.
func newNodeSource(d document, n *yamldoc.Node, noun string, index int, suffix string) nodeSource {
	a := nodeSource{object: object{d, n, fmt.Sprintf("%s %d%s", noun, index+1, suffix)}, noun: noun, index: index}
	id, at := a.text("id", "name")
	a.id, a.idAt = id, a.location(at)
	if id != "" {
		a.label = fmt.Sprintf("%s %q%s", noun, id, suffix)
	}
	return a
}

// checkRepeated reports repeated ids.
func checkRepeated(list []nodeSource) {
	first := map[string]location{}
	for _, a := range list {
		if a.id == "" {
			continue
		}
		if at, twice := first[a.id]; twice {
			a.idAt.errorf(yamldoc.CodeRepeated, "give each "+a.noun+" its own id", "%s id %q is repeated, first in line %d", a.noun, a.id, at.pos.Line)
			continue
		}
		first[a.id] = a.idAt
	}
}

// compileNode compiles one node and returns its approval. The node is nil if it has faults; they are reported.
func (c *compiler) compileNode(a nodeSource, s inputScope, defaults settings) (*plan.Node, approval) {
	a.checkCommon()
	if w, st, wraps := c.resolveWraps(a); wraps {
		return c.wrapsNode(a, s, w, st)
	}
	if a.has("wraps") { // has the wrong type
		return nil, approval{}
	}
	switch a.kind() {
	case plan.KindStage:
		return c.stageNode(a, s, defaults)
	case plan.KindParallel:
		return c.parallelNode(a, s), a.approval()
	case plan.KindPipeline:
		return c.embedNode(a, s), a.approval()
	default:
		return nil, approval{}
	}
}

// checkCommon checks the keys that all kinds of nodes share.
func (a nodeSource) checkCommon() {
	a.warnUnknownKeys(slices.Concat(dialect.Node.Names(), onKeys))
	for _, key := range onKeys {
		if at := a.keyPos(key); at.Line > 0 {
			a.Warnf(at, yamldoc.CodeUnknownKey, "write transitions:", "unknown key %q in %s is ignored", key, a.label)
		}
	}
	a.checkID()
}

// kind returns the kind of the node. It returns "" and reports a fault if the node has none or several.
func (a nodeSource) kind() plan.Kind {
	isStage, block, nested := a.isSet("stage", "loop", "prompt"), a.isSet("parallel"), a.isSet("pipeline")
	switch {
	case isStage && (block || nested):
		key := a.get("parallel", "pipeline").key
		a.Errorf(a.keyPos(key), yamldoc.CodeConflict, "make two nodes of it", "%s cannot have %s beside stage or prompt", a.label, key)
	case block && nested:
		a.Errorf(a.keyPos("pipeline"), yamldoc.CodeConflict, "make two nodes of it", "%s cannot have pipeline beside parallel", a.label)
	case isStage:
		return plan.KindStage
	case block:
		return plan.KindParallel
	case nested:
		return plan.KindPipeline
	default:
		a.reportEmpty("add stage:, prompt:, parallel:, pipeline: or wraps:")
	}
	return ""
}

func (a nodeSource) reportEmpty(hint string) {
	a.Errorf(a.node.Pos, yamldoc.CodeMissing, hint, "%s has neither stage nor prompt", a.label)
}

// stageNode compiles a node that runs a stage or a prompt.
func (c *compiler) stageNode(a nodeSource, s inputScope, defaults settings) (*plan.Node, approval) {
	node := &plan.Node{ID: a.id, Kind: plan.KindStage, Inputs: a.inputs(s), Policy: a.policy(nodePolicy), Steps: a.steps()}
	nodeSettings, stage, ok := c.stageWork(node, a)
	if !ok {
		return nil, nodeSettings.approval
	}
	node.Provider = c.provider(nodeSettings, stage.settings, defaults)
	a.requirements(c.text).withDefaults(stage.requirements).applyTo(node)
	return node, nodeSettings.approval.withDefault(stage.approval)
}

// stageWork sets the work of the node and returns the settings of the node and its stage. It returns false and
// reports a fault if there is no usable stage.
func (c *compiler) stageWork(node *plan.Node, a nodeSource) (nodeSettings settings, s stage, ok bool) {
	nodeSettings = a.settings()
	r := a.runs()
	st, usable := c.nodeStage(a)
	if !usable {
		return nodeSettings, s, false
	}
	if st != nil {
		s = *st
	}
	contract := a.artifact(c.readBesidePipeline).withDefaults(s.artifact)
	node.Role = s.role
	node.Checks = c.checks(a, st)
	node.Artifact = contract.Artifact
	contract.checkKernelFields(node.Checks)
	node.Termination = mergeTermination(s.termination, nodeSettings.termination, r)
	node.Description = cmp.Or(nodeSettings.description, s.description)
	node.Context = cmp.Or(nodeSettings.context, s.context)
	node.OutputPath = cmp.Or(nodeSettings.outputPath, s.outputPath)
	node.Delay = cmp.Or(nodeSettings.delay, s.delay, c.Defaults.Delay)
	node.Guardrails = cmp.Or(nodeSettings.guardrails, s.guardrails)
	c.checkTermination(node.Termination, s.termination, nodeSettings.termination)
	a.checkChecksTermination(node, s.termination, nodeSettings.termination)
	c.setPrompt(node, a, st)
	return nodeSettings, s, true
}

func (a nodeSource) checkID() {
	if a.id == "" && !a.isSet("id", "name") {
		a.Errorf(a.node.Pos, yamldoc.CodeMissing, "add id:", "%s has no id", a.label)
		return
	}
	if fault := nameFault(a.id); a.id != "" && fault != "" {
		a.idAt.errorf(yamldoc.CodeIdentifier, "ids become directory names", "%s id %q %s", a.noun, a.id, fault)
	}
}

// nodeStage loads the node's stage; nil for a node with a prompt alone. usable is false if the named stage is not
// usable.
func (c *compiler) nodeStage(a nodeSource) (s *stage, usable bool) {
	name, at := a.text("stage", "loop")
	if at.Node == nil {
		return nil, a.has("prompt")
	}
	s = c.lookupStage(name, a.location(at))
	return s, s != nil
}

// setPrompt sets the node's prompt: its inline prompt, or else the prompt file of its stage.
func (c *compiler) setPrompt(node *plan.Node, a nodeSource, s *stage) {
	node.Prompt, _ = a.text("prompt")
	if s == nil {
		return
	}
	node.Ref, node.Commands = s.dir.Name, s.commands
	if node.Prompt == "" {
		node.PromptPath = c.findPrompt(s)
	}
}
