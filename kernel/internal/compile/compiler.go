package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// compiler is one compilation.
type compiler struct {
	Request
	diagnostics Diagnostics
	stages      map[string]*stage // by name; nil for one whose file is broken
	library     []string
	pipelineDir string
}

func newCompiler(req Request) *compiler {
	return &compiler{Request: req, stages: map[string]*stage{}}
}

func (c *compiler) document(name string) document { return document{name, &c.diagnostics} }

// head is a plan without nodes.
func (c *compiler) head(source string, data []byte) *plan.Plan {
	sum := sha256.Sum256(data)
	now := c.Now.UTC().Format(time.RFC3339)
	return &plan.Plan{
		Version:      plan.Version,
		CompiledAt:   now,
		Source:       plan.Source{Path: source, SHA256: hex.EncodeToString(sum[:])},
		Session:      plan.Session{Name: c.Session, CreatedAt: now},
		Pipeline:     plan.Pipeline{Overrides: c.overrides()},
		Dependencies: plan.Dependencies{JQ: true, YQ: true, Tmux: true},
		Nodes:        []plan.Node{},
	}
}

// finish turns a plan into the result, or into the error if anything is wrong with it.
func (c *compiler) finish(p *plan.Plan) (*Result, error) {
	ds := c.diagnostics.sorted()
	if ds.HasErrors() {
		return nil, ds
	}
	for _, n := range p.Nodes {
		if n.Termination.Type() == plan.TypeQueue {
			p.Dependencies.BD = true
		}
	}
	return &Result{Plan: p, Warnings: ds, Library: sortedUnique(c.library)}, nil
}

// stage loads the stage of a node, once for each name. It returns nil, having said why, if there is
// no usable one.
func (c *compiler) stage(name string, at place) *stage {
	if s, known := c.stages[name]; known {
		return s
	}
	dir, err := c.FindStage(name, c.pipelineDir)
	var missing *NotFoundError
	if errors.As(err, &missing) {
		at.errorf(CodeStage, missing.Hint(), "unknown stage %q", name)
		return nil
	}
	c.stages[name] = c.load(dir)
	return c.stages[name]
}

// load reads a stage's stage.yaml.
func (c *compiler) load(dir StageDir) *stage {
	data, problem := c.readStage(dir)
	d := c.document(c.stageFile(dir))
	if problem != "" {
		d.errorf(start, CodeRead, "", "%s", problem)
		return nil
	}
	m, ok := d.parse(data)
	if !ok {
		return nil
	}
	return newStage(dir, m, data)
}

// stageFile is the display name of a stage's stage.yaml.
func (c *compiler) stageFile(dir StageDir) string {
	if dir.Library {
		return "library:" + path.Join(dir.Path, "stage.yaml")
	}
	return c.display(filepath.Join(dir.Path, "stage.yaml"))
}

func (c *compiler) readStage(dir StageDir) (data []byte, problem string) {
	if !dir.Library {
		return readFile(filepath.Join(dir.Path, "stage.yaml"))
	}
	f, err := c.Library.Open(path.Join(dir.Path, "stage.yaml"))
	if err != nil {
		return nil, readProblem(err)
	}
	defer closeQuietly(f)
	return readAll(f)
}

// closeQuietly closes a file that was only read.
func closeQuietly(f fs.File) { _ = f.Close() }
