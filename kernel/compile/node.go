package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// takenForBoolean are what becomes of the key on, which other dialects have for transitions.
var takenForBoolean = []string{"on", "true"}

// authored is a node, or a stage of a block, as it stands in the file.
type authored struct {
	mapping
	noun   string // node or stage
	number int    // in its list, from 0
	id     string
	idAt   place
}

// newAuthored reads the id of the item with that number of a list of nodes, or of the stages of a block.
// The number names it in messages as long as it has no id; of is what the list belongs to, "" for the
// pipeline.
func newAuthored(d document, n *yamldoc.Node, noun string, number int, of string) authored {
	a := authored{mapping: mapping{d, n, fmt.Sprintf("%s %d%s", noun, number+1, of)}, noun: noun, number: number}
	id, at := a.text("id", "name")
	a.id, a.idAt = id, a.place(at)
	if id != "" {
		a.what = fmt.Sprintf("%s %q%s", noun, id, of)
	}
	return a
}

// checkRepeated reports ids that stand twice.
func checkRepeated(list []authored) {
	first := map[string]place{}
	for _, a := range list {
		if a.id == "" {
			continue
		}
		if at, twice := first[a.id]; twice {
			a.idAt.errorf(diagnostic.CodeRepeated, "give each "+a.noun+" its own id", "%s id %q stands twice, first in line %d", a.noun, a.id, at.at.Line)
			continue
		}
		first[a.id] = a.idAt
	}
}

// node compiles one node, and says whether a person has to approve it. The node is nil, having said why,
// where there is nothing to compile.
func (c *compiler) node(a authored, s scope, defaults settings) (*plan.Node, approval) {
	a.common()
	if w, st, wraps := c.wrapped(a); wraps {
		return c.wrap(a, s, w, st)
	}
	if a.has("wraps") { // of the wrong type
		return nil, approval{}
	}
	switch a.kind() {
	case plan.KindStage:
		return c.stageNode(a, s, defaults)
	case plan.KindParallel:
		return c.parallel(a, s), a.approval()
	case plan.KindPipeline:
		return c.embed(a, s), a.approval()
	default:
		return nil, approval{}
	}
}

// common checks what holds for nodes of all kinds.
func (a authored) common() {
	a.warnUnknown(slices.Concat(dialect.Node.Names(), takenForBoolean))
	for _, key := range takenForBoolean {
		if at := a.key(key); at.Line > 0 {
			a.Warnf(at, diagnostic.CodeUnknownKey, "write transitions:", "unknown key %q in %s is ignored", key, a.what)
		}
	}
	a.checkID()
}

// kind says what the node is. It returns "", having said why, for one that is nothing or two things.
func (a authored) kind() plan.Kind {
	isStage, block, nested := a.says("stage", "loop", "prompt"), a.says("parallel"), a.says("pipeline")
	switch {
	case isStage && (block || nested):
		key := a.get("parallel", "pipeline").key
		a.Errorf(a.key(key), diagnostic.CodeConflict, "make two nodes of it", "%s cannot have %s beside stage or prompt", a.what, key)
	case block && nested:
		a.Errorf(a.key("pipeline"), diagnostic.CodeConflict, "make two nodes of it", "%s cannot have pipeline beside parallel", a.what)
	case isStage:
		return plan.KindStage
	case block:
		return plan.KindParallel
	case nested:
		return plan.KindPipeline
	default:
		a.nothing("add stage:, prompt:, parallel:, pipeline: or wraps:")
	}
	return ""
}

func (a authored) nothing(hint string) {
	a.Errorf(a.node.Pos, diagnostic.CodeMissing, hint, "%s has neither stage nor prompt", a.what)
}

// stageNode compiles a node that runs a stage.
func (c *compiler) stageNode(a authored, s scope, defaults settings) (*plan.Node, approval) {
	node := &plan.Node{ID: a.id, Kind: plan.KindStage, Inputs: a.inputs(s), Policy: a.policy(ofNode), Steps: a.steps()}
	own, stage, ok := c.work(node, a)
	if !ok {
		return nil, own.approval
	}
	node.Provider = c.provider(own, stage.settings, defaults)
	a.demands(c.text).over(stage.demands).set(node)
	return node, own.approval.or(stage.approval)
}

// work gives the node what it does, and returns what the node and its stage say. It returns false,
// having said why, if there is no usable stage.
func (c *compiler) work(node *plan.Node, a authored) (own settings, s stage, ok bool) {
	own = a.settings()
	r := a.runs()
	st, usable := c.stageOf(a)
	if !usable {
		return own, s, false
	}
	if st != nil {
		s = *st
	}
	promised := a.artifact(c.besidePipeline).over(s.artifact)
	node.Role = s.role
	node.Checks = c.checks(a, st)
	node.Artifact = promised.Artifact
	promised.checkFields(node.Checks)
	node.Termination = mergeTermination(s.termination, own.termination, r)
	node.Description = cmp.Or(own.description, s.description)
	node.Context = cmp.Or(own.context, s.context)
	node.OutputPath = cmp.Or(own.outputPath, s.outputPath)
	node.Delay = cmp.Or(own.delay, s.delay, c.Defaults.Delay)
	node.Guardrails = cmp.Or(own.guardrails, s.guardrails)
	c.checkTermination(node.Termination, s.termination, own.termination)
	a.checkMeasured(node, s.termination, own.termination)
	c.setPrompt(node, a, st)
	return own, s, true
}

func (a authored) checkID() {
	if a.id == "" && !a.says("id", "name") {
		a.Errorf(a.node.Pos, diagnostic.CodeMissing, "add id:", "%s has no id", a.what)
		return
	}
	if wrong := validName(a.id); a.id != "" && wrong != "" {
		a.idAt.errorf(diagnostic.CodeIdentifier, "ids become directory names", "%s id %q %s", a.noun, a.id, wrong)
	}
}

// stageOf loads the node's stage: nil for an inline prompt alone. It is not usable if the stage that
// the node names is not.
func (c *compiler) stageOf(a authored) (s *stage, usable bool) {
	name, at := a.text("stage", "loop")
	if at.Node == nil {
		return nil, a.has("prompt")
	}
	s = c.stage(name, a.place(at))
	return s, s != nil
}

// setPrompt gives the node its inline prompt, which wins, or its stage's prompt file.
func (c *compiler) setPrompt(node *plan.Node, a authored, s *stage) {
	node.Prompt, _ = a.text("prompt")
	if s == nil {
		return
	}
	node.Ref, node.Commands = s.dir.Name, s.commands
	if node.Prompt == "" {
		node.PromptPath = c.promptOf(s)
	}
}
