package lint

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// stage checks the stage in a folder.
func (l Linter) stage(dir sources.StageDir) Target {
	file := path.Join(l.Request.Display(dir.Path), "stage.yaml")
	if dir.Library {
		file = "library:" + path.Join(dir.Path, "stage.yaml")
	}
	p, found := compile.CheckStage(l.request(dir.Name), dir, compile.Loop{Stage: dir.Name})
	if root := tree(file, l.read(dir)); p != nil && root != nil {
		d := yamldoc.Document{File: file, Diagnostics: &found}
		n := &p.Nodes[0]
		if n.Wraps == nil { // a wrapped program is run once
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

// request is the compilation's; the name stands for the session's.
func (l Linter) request(name string) compile.Request {
	req := l.Request
	req.Catalog, req.Session = l.Catalog, name
	return req
}

// read is the content of a stage.yaml; what cannot be read the compiler has reported.
func (l Linter) read(dir sources.StageDir) []byte {
	if dir.Library {
		data, _ := fs.ReadFile(l.Request.Library, path.Join(dir.Path, "stage.yaml"))
		return data
	}
	data, _ := yamldoc.ReadFile(filepath.Join(dir.Path, "stage.yaml"))
	return data
}

// checkEnd finds a stage that leaves to its reader when it ends. The old key completion says it as well.
func checkEnd(d yamldoc.Document, root *yamldoc.Node) {
	termination := root.Get("termination")
	if text(root, "completion") != nil || termination != nil && text(termination, "type") != nil {
		return
	}
	d.Errorf(position(termination, root), yamldoc.CodeNoTermination, "add termination: {type: fixed}, or judgment or queue",
		"Missing 'termination.type' field in stage.yaml (v3 schema)")
}

// checkPrompt warns of unknown variables in the prompt file of a node. A stage does not know whether its node will
// have a contract.
func (l Linter) checkPrompt(found *yamldoc.Diagnostics, n *plan.Node) {
	file := n.PromptPath
	if file == "" {
		return
	}
	d := yamldoc.Document{File: file, Diagnostics: found}
	text := l.readPrompt(n, &d)
	for _, v := range prompt.Leftovers(string(text), true) {
		warnVariable(d, yamldoc.Pos{Line: v.Line, Column: v.Column}, v)
	}
	checkExample(d, text, n.Artifact)
}

// readPrompt reads a prompt file; that of a shipped stage, which the plan names by the copy that a run makes,
// where it is shipped. What cannot be read is reported.
func (l Linter) readPrompt(n *plan.Node, d *yamldoc.Document) []byte {
	copies := filepath.ToSlash(compile.LibraryDir(n.ID)) + "/"
	if shipped, ok := strings.CutPrefix(n.PromptPath, copies); ok {
		d.File = "library:" + shipped
		data, _ := fs.ReadFile(l.Request.Library, shipped) // the compiler has found it there
		return data
	}
	file := n.PromptPath
	if !filepath.IsAbs(file) {
		file = filepath.Join(l.Request.Project, file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		d.Errorf(yamldoc.Pos{}, yamldoc.CodeRead, "", "%s", yamldoc.ReadProblem(err))
	}
	return data
}

func warnVariable(d yamldoc.Document, at yamldoc.Pos, v prompt.Leftover) {
	d.Warnf(at, yamldoc.CodeVariable, "the agent gets it as it is; ${CTX} names a file with all there is to know",
		"Unknown template variable: %s", v.Text)
}
