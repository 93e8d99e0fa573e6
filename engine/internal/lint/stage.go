package lint

import (
	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// stage checks the stage in a folder.
func (l Linter) stage(dir sources.StageDir) Target {
	file := l.Request.StageFile(dir)
	data, _ := l.Request.ReadPipeline(l.Request.AbsolutePath(file)) // the compiler has reported an unreadable file
	p, found := compile.CheckStage(l.request(dir.Name), dir, compile.Loop{Stage: dir.Name})
	if root := tree(file, data); p != nil && root != nil {
		d := yamldoc.Document{File: file, Diagnostics: &found}
		n := &p.Nodes[0]
		if n.Wraps == nil { // a wrapped program runs once
			checkEnd(d, root)
		}
		checkJudgment(d, position(root.Get("termination"), root), n.Termination)
		if n.Provider != nil {
			l.checkModel(d, n.Provider.Type, text(root, "model"))
		}
		checkVerdict(d, root, n)
		l.checkPrompt(&found, n)
	}
	return target(KindStage, dir.Name, file, found)
}

// request returns the request of a compilation, in which the target's name replaces the session's.
func (l Linter) request(name string) compile.Request {
	req := l.Request
	req.Catalog, req.Session = l.Catalog, name
	return req
}

// checkEnd reports a stage that has neither termination.type nor the old key completion, so that its end is undefined.
func checkEnd(d yamldoc.Document, root *yamldoc.Node) {
	termination := root.Get("termination")
	if text(root, "completion") != nil || termination != nil && text(termination, "type") != nil {
		return
	}
	d.Errorf(position(termination, root), yamldoc.CodeNoTermination, "add termination: {type: fixed}, or judgment or queue",
		"Missing 'termination.type' field in stage.yaml (v3 schema)")
}

// checkPrompt warns of unknown variables and of an invalid example in the prompt file of a node. Variables of a
// contract count as known, because a node with this stage may have a contract.
func (l Linter) checkPrompt(found *yamldoc.Diagnostics, n *plan.Node) {
	if n.PromptPath == "" {
		return
	}
	file, text, err := prompt.ReadFile(l.Request.Roots, n.ID, n.PromptPath)
	d := yamldoc.Document{File: file, Diagnostics: found}
	if err != nil {
		d.Errorf(yamldoc.Pos{}, yamldoc.CodeRead, "", "%s", yamldoc.ReadProblem(err))
	}
	for _, v := range prompt.Leftovers(string(text), true) {
		warnVariable(d, yamldoc.Pos{Line: v.Line, Column: v.Column}, v)
	}
	checkExample(d, text, n.Artifact)
}

func warnVariable(d yamldoc.Document, at yamldoc.Pos, v prompt.Leftover) {
	d.Warnf(at, yamldoc.CodeVariable, "the agent gets the text unchanged; ${CTX} names a file with the whole context",
		"Unknown template variable: %s", v.Text)
}

// maxExample bounds an example in a prompt, in bytes.
const maxExample = 1 << 20

// checkExample checks the example in a prompt against the schema of the artifact that the prompt asks for. The example
// is the prompt's first fenced block of JSON or YAML. The example may lack required fields: a node may carry these over
// or measure them.
func checkExample(d yamldoc.Document, text []byte, contract *plan.Artifact) {
	if contract == nil || len(contract.Schema) == 0 {
		return
	}
	example, faults := artifact.Example(string(text), maxExample)
	if example == nil && len(faults) == 0 {
		return
	}
	if s, err := schema.Compile(contract.Schema); err == nil && example != nil { // the compiler has reported an invalid schema
		faults = s.Validate(example)
	}
	for _, f := range faults {
		if f.Code != schema.CodeMissing {
			d.Warnf(yamldoc.Pos{Line: 1, Column: 1}, yamldoc.CodeExample, "agents copy examples; write one that fits artifact.schema", "The example of the artifact does not fit its schema: %s", f)
		}
	}
}
