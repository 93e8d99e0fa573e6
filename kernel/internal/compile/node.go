package compile

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/compile/yamltree"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

var (
	nodeKeys = []string{
		"id", "name", "stage", "loop", "prompt", "pipeline", "parallel", "runs", "termination", "completion", "consensus",
		"min_iterations", "inputs", "provider", "model", "context", "description", "delay", "output_path", "guardrails",
		"policy", "tmux",
		"artifact", "requires", "skip_when", "steps", "checks", "transitions", "require_human_approval",
	}
	nodeNotYet = []string{
		"artifact", "requires", "skip_when", "steps", "checks", "transitions", "require_human_approval",
	}
)

// authored is a node as it stands in the file.
type authored struct {
	mapping
	id   string
	idAt place
}

// newAuthored reads a node's id. Its number, from 0, names it in messages as long as it has none.
func newAuthored(d document, n *yamltree.Node, number int) authored {
	a := authored{mapping: mapping{d, n, fmt.Sprintf("node %d", number+1)}}
	id, at := a.text("id", "name")
	a.id, a.idAt = id, a.place(at)
	if id != "" {
		a.what = fmt.Sprintf("node %q", id)
	}
	return a
}

// checkRepeated reports ids that stand twice.
func checkRepeated(nodes []authored) {
	first := map[string]place{}
	for _, a := range nodes {
		if a.id == "" {
			continue
		}
		if at, twice := first[a.id]; twice {
			a.idAt.errorf(CodeRepeated, "give each node its own id", "node id %q stands twice, first in line %d", a.id, at.at.Line)
			continue
		}
		first[a.id] = a.idAt
	}
}

// around is what node i sees of the others.
func around(nodes []authored, i int) neighbours {
	var n neighbours
	for j, a := range nodes {
		n.blocks = n.blocks || a.has("parallel")
		if j < i {
			n.earlier = append(n.earlier, a.id)
		} else {
			n.later = append(n.later, a.id)
		}
	}
	return n
}

// node compiles one node. It returns nil, having said why, where there is nothing to compile.
func (c *compiler) node(a authored, n neighbours, defaults settings) *plan.Node {
	a.unknown(nodeKeys)
	a.guardrails()
	a.notYet(nodeNotYet)
	a.stagesOnly()
	a.checkID()
	inputs, policy := a.inputs(n), a.policy()
	if !a.isStage() {
		return nil
	}
	own, r := a.settings(), a.runs()
	st, usable := c.stageOf(a)
	if !usable {
		return nil
	}
	from := settings{}
	if st != nil {
		from = st.settings
	}
	node := &plan.Node{
		ID:          a.id,
		Kind:        plan.KindStage,
		Termination: mergeTermination(from.termination, own.termination, r),
		Inputs:      inputs,
		Description: cmp.Or(own.description, from.description),
		Provider:    c.provider(own, from, defaults),
		Context:     cmp.Or(own.context, from.context),
		OutputPath:  cmp.Or(own.outputPath, from.outputPath),
		Delay:       cmp.Or(own.delay, from.delay),
		Policy:      policy,
	}
	c.checkTermination(node.Termination, from.termination, own.termination)
	c.setPrompt(node, a, st)
	return node
}

// stagesOnly reports the kinds of nodes that this version does not run.
func (a authored) stagesOnly() {
	for _, key := range []string{"parallel", "pipeline"} {
		if a.has(key) {
			a.errorf(a.key(key), CodeNotYet, "make it a stage node", "%s is a %s node: this version runs stage nodes only", a.what, key)
		}
	}
}

func (a authored) checkID() {
	if a.id == "" && !a.has("id", "name") {
		a.errorf(a.node.Pos, CodeMissing, "add id:", "%s has no id", a.what)
		return
	}
	if wrong := validName(a.id); a.id != "" && wrong != "" {
		a.idAt.errorf(CodeIdentifier, "ids become directory names", "node id %q %s", a.id, wrong)
	}
}

// isStage says whether the node is to be compiled as a stage, and reports nodes that are nothing or
// two things.
func (a authored) isStage() bool {
	isStage, block := a.has("stage", "loop", "prompt"), a.get("parallel", "pipeline")
	switch {
	case isStage && block.Node != nil:
		a.errorf(a.key(block.key), CodeConflict, "make two nodes of it", "%s cannot have %s beside stage or prompt", a.what, block.key)
	case !isStage && block.Node == nil:
		a.errorf(a.node.Pos, CodeMissing, "add stage: or prompt:", "%s has neither stage nor prompt", a.what)
	}
	return isStage
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
