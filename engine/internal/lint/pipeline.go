package lint

import (
	"strconv"

	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// pipeline checks a pipeline file. Embedded pipelines are compiled with the file. Named stages are not checked here:
// [Linter.Stages] checks the user's stages.
func (l Linter) pipeline(name, file string) Target {
	req := l.request(name)
	req.File = file
	p, found := compile.CheckPipeline(req)
	found = refuseEmpty(found)
	shown := l.Request.Display(file)
	data, _ := l.Request.ReadPipeline(file) // the compiler has reported an unreadable file
	root := tree(shown, data)
	d := yamldoc.Document{File: shown, Diagnostics: &found}
	for i, item := range items(root, "nodes", "stages") {
		n := find(p, strconv.Itoa(i))
		l.node(d, item, n)
		if n != nil && item.Kind == yamldoc.Map {
			l.flow(d, p, item, n)
		}
		for j, inner := range items(item.Get("parallel"), "stages") {
			stage := find(p, strconv.Itoa(i)+"."+strconv.Itoa(j))
			l.node(d, inner, stage)
			if stage != nil {
				checkVerdict(d, inner, stage)
			}
		}
	}
	if p != nil && root != nil {
		l.checkCost(d, root, p.All())
	}
	return target(KindPipeline, name, shown, found)
}

// refuseEmpty turns the warning about a pipeline without nodes into an error: such a pipeline runs, but does nothing.
func refuseEmpty(found yamldoc.Diagnostics) yamldoc.Diagnostics {
	for i := range found {
		if found[i].Code == yamldoc.CodeNoNodes {
			found[i].Severity, found[i].Message = yamldoc.SeverityError, "Empty 'nodes' array"
		}
	}
	return found
}

// find returns a compiled node, nil if its source could not be compiled.
func find(p *plan.Plan, path string) *plan.Node {
	if p == nil {
		return nil
	}
	return p.Find(path)
}

// node checks a node, or a stage of a block, as written in the file; n is the compiled node, nil if there is none.
func (l Linter) node(d yamldoc.Document, item *yamldoc.Node, n *plan.Node) {
	if item.Kind != yamldoc.Map {
		return
	}
	inline := text(item, "prompt")
	if inline != nil {
		for _, v := range prompt.Leftovers(inline.Source, n != nil && n.HasContract()) { // a line in v counts from the beginning of the prompt
			warnVariable(d, inline.Pos, v)
		}
	}
	if inline != nil || text(item, "stage", "loop") != nil {
		checkRuns(d, item, n)
	}
	if n == nil {
		return
	}
	if own := item.Get("termination"); own != nil {
		checkJudgment(d, own.Pos, n.Termination)
	}
	if n.Provider != nil {
		l.checkModel(d, n.Provider.Type, text(item, "model"))
	}
}

// checkRuns warns of a node that runs only once because it sets no number of runs. It ignores a node with a contract or
// transitions, which can repeat the node.
func checkRuns(d yamldoc.Document, item *yamldoc.Node, n *plan.Node) {
	for _, key := range []string{"runs", "termination", "completion", "artifact", "checks", "steps", "transitions"} {
		if item.Get(key) != nil {
			return
		}
	}
	if n != nil && (n.Termination.Max() != 1 || n.Wraps != nil) { // the stage sets the number, or a wrapped program runs once
		return
	}
	name := "without an id"
	for _, key := range []string{"name", "id"} { // id wins over name
		if v := item.Get(key); v != nil && v.Source != "" { // the value may be a number
			name = "'" + v.Source + "'"
		}
	}
	d.Warnf(item.Pos, yamldoc.CodeDefaultRuns, "add runs: 1", "Node %s: missing 'runs' field (will use default)", name)
}
