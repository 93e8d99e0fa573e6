package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// compiler is one compilation.
type compiler struct {
	Request
	diagnostics diagnostic.List
	stages      map[StageDir]*stage // nil for one whose file is broken
	library     []string

	// Of the pipeline file that is being compiled, and of those that embed it.
	pipelineDir  string    // "" for a shipped one
	text         []byte    // its bytes
	includeStack []include // the outermost first
	mode         string    // the strictest so far

	checkSources   map[*plan.Check]object   // as they stand in the file
	wrapsLocations map[*plan.Wraps]location // where their commands stand

	embeddedPlans map[string]*plan.Plan // embedded files by their paths, nil for one without a plan
	sizes         map[*plan.Plan]int    // numbers of nodes
	hasBlocks     bool                  // there are parallel blocks
	singleStage   bool                  // a stage runs alone
	validateOnly  bool                  // at files, without a run to come
}

func newCompiler(req Request) *compiler {
	return &compiler{Request: req, mode: req.Overrides.Mode, stages: map[StageDir]*stage{}, embeddedPlans: map[string]*plan.Plan{}, sizes: map[*plan.Plan]int{}, checkSources: map[*plan.Check]object{}, wrapsLocations: map[*plan.Wraps]location{}}
}

func (c *compiler) document(name string) document { return document{File: name, List: &c.diagnostics} }

// newPlan is a plan without nodes.
func (c *compiler) newPlan(source string, data []byte) *plan.Plan {
	sum := sha256.Sum256(data)
	now := c.Now.UTC().Format(time.RFC3339)
	return &plan.Plan{
		Version:      plan.Version,
		CompiledAt:   now,
		Source:       plan.Source{Path: source, SHA256: hex.EncodeToString(sum[:])},
		Session:      plan.Session{Name: c.Session, CreatedAt: now},
		Pipeline:     plan.Pipeline{Overrides: c.planOverrides()},
		Dependencies: plan.Dependencies{JQ: true, YQ: true, Tmux: true},
		Nodes:        []plan.Node{},
	}
}

// finish turns a plan into the result, or into the error if anything is wrong with it.
func (c *compiler) finish(p *plan.Plan) (*Result, error) {
	ds := c.diagnostics.Sorted()
	if ds.HasErrors() {
		return nil, ds
	}
	p.Dependencies.BD = needsQueue(p.Nodes)
	return &Result{Plan: p, Warnings: ds, Library: sortedUnique(c.library)}, nil
}

// needsQueue says whether a termination of the nodes, or of what is inside them, is a queue.
func needsQueue(nodes []plan.Node) bool {
	return slices.ContainsFunc(nodes, func(n plan.Node) bool {
		return n.Termination.Type() == plan.TypeQueue || needsQueue(n.Stages) || n.Plan != nil && n.Plan.Dependencies.BD
	})
}

// lookupStage loads the stage of a node, once for each folder. It returns nil, having said why, if there is
// no usable one.
func (c *compiler) lookupStage(name string, at location) *stage {
	dir, err := c.FindStage(name, c.pipelineDir)
	var missing *NotFoundError
	if errors.As(err, &missing) {
		at.errorf(diagnostic.CodeStage, missing.Hint(), "unknown stage %q", name)
		return nil
	}
	return c.cachedStage(dir)
}

// cachedStage is the stage in a folder, nil for one that cannot be used.
func (c *compiler) cachedStage(dir StageDir) *stage {
	s, known := c.stages[dir]
	if !known {
		s = c.loadStage(dir)
		c.stages[dir] = s
	}
	return s
}

// loadStage reads a stage's stage.yaml.
func (c *compiler) loadStage(dir StageDir) *stage {
	data, problem := c.readStageFile(dir)
	d := c.document(c.stageFile(dir))
	if problem != "" {
		d.Errorf(start, diagnostic.CodeRead, "", "%s", problem)
		return nil
	}
	m, ok := parse(d, data)
	if !ok {
		return nil
	}
	s := newStage(dir, m, data)
	s.checkWraps()
	s.artifact = m.artifact(c.stageReader(dir))
	return s
}

// stageFile is the display name of a stage's stage.yaml.
func (c *compiler) stageFile(dir StageDir) string {
	if dir.Library {
		return libraryPrefix + path.Join(dir.Path, "stage.yaml")
	}
	return c.display(filepath.Join(dir.Path, "stage.yaml"))
}

func (c *compiler) readStageFile(dir StageDir) (data []byte, problem string) {
	if !dir.Library {
		return diagnostic.ReadFile(filepath.Join(dir.Path, "stage.yaml"))
	}
	return c.readLibrary(path.Join(dir.Path, "stage.yaml"))
}

// closeQuietly closes a file that was only read.
func closeQuietly(f fs.File) { _ = f.Close() }
