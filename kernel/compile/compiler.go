package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// compiler holds the state of one compilation.
type compiler struct {
	Request
	diagnostics yamldoc.Diagnostics
	stages      map[sources.StageDir]*sources.Stage // nil for a stage with a broken file
	library     []string

	// These are the values of the pipeline file that is being compiled.
	pipelineDir  string    // "" for a shipped pipeline
	text         []byte    // content of the file
	includeStack []include // the files being compiled, the outermost first
	mode         string    // the strictest mode of these files

	checkSources   map[*plan.Check]dialect.Map      // the YAML of each check
	wrapsLocations map[*plan.Wraps]dialect.Location // locations of the commands

	embeddedPlans map[string]*plan.Plan // by path; nil for a file without a plan
	sizes         map[*plan.Plan]int    // numbers of nodes
	hasBlocks     bool                  // the pipeline has a parallel block
	singleStage   bool                  // a stage runs alone
	validateOnly  bool                  // the plan is not for a run
}

func newCompiler(req Request) *compiler {
	return &compiler{Request: req, mode: req.Overrides.Mode, stages: map[sources.StageDir]*sources.Stage{}, embeddedPlans: map[string]*plan.Plan{}, sizes: map[*plan.Plan]int{}, checkSources: map[*plan.Check]dialect.Map{}, wrapsLocations: map[*plan.Wraps]dialect.Location{}}
}

func (c *compiler) document(name string) yamldoc.Document {
	return yamldoc.Document{File: name, Diagnostics: &c.diagnostics}
}

// newPlan returns a plan without nodes.
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

// finish returns the result with the plan, or the diagnostics if there is an error.
func (c *compiler) finish(p *plan.Plan) (*Result, error) {
	ds := c.diagnostics.Sorted()
	if ds.HasErrors() {
		return nil, ds
	}
	p.Dependencies.BD = needsQueue(p.Nodes)
	return &Result{Plan: p, Warnings: ds, Library: dialect.SortedUnique(c.library)}, nil
}

// needsQueue reports whether a node, or a node inside of it, has the termination queue.
func needsQueue(nodes []plan.Node) bool {
	return slices.ContainsFunc(nodes, func(n plan.Node) bool {
		return n.Termination.Type() == plan.TypeQueue || needsQueue(n.Stages) || n.Plan != nil && n.Plan.Dependencies.BD
	})
}

// lookupStage loads a node's stage, once for each directory. It returns nil and reports a fault if the stage does
// not exist or is not usable.
func (c *compiler) lookupStage(name string, at dialect.Location) *sources.Stage {
	dir, err := c.FindStage(name, c.pipelineDir)
	var missing *sources.NotFoundError
	if errors.As(err, &missing) {
		at.Errorf(yamldoc.CodeStage, missing.Hint(), "unknown stage %q", name)
		return nil
	}
	return c.cachedStage(dir)
}

// cachedStage returns the stage in a directory; nil if it is not usable.
func (c *compiler) cachedStage(dir sources.StageDir) *sources.Stage {
	s, known := c.stages[dir]
	if !known {
		s = c.loadStage(dir)
		c.stages[dir] = s
	}
	return s
}

// loadStage reads a stage's stage.yaml. It returns nil and reports a fault if the file is not usable.
func (c *compiler) loadStage(dir sources.StageDir) *sources.Stage {
	data, problem := c.readStageFile(dir)
	d := c.document(c.StageFile(dir))
	if problem != "" {
		d.Errorf(dialect.FileStart, yamldoc.CodeRead, "", "%s", problem)
		return nil
	}
	m, ok := dialect.Parse(d, data)
	if !ok {
		return nil
	}
	s := sources.NewStage(dir, m, data)
	s.CheckWraps()
	s.Artifact = sources.ReadArtifact(m, c.stageReader(dir))
	return s
}

func (c *compiler) readStageFile(dir sources.StageDir) (data []byte, problem string) {
	if !dir.Library {
		return yamldoc.ReadFile(filepath.Join(dir.Path, "stage.yaml"))
	}
	return c.ReadLibrary(path.Join(dir.Path, "stage.yaml"))
}

// missingHint returns the hint for a component that does not exist.
func (c *compiler) missingHint(kind sdk.Kind, name string, candidates []string) string {
	hint := dialect.DidYouMean(name, candidates)
	if a, ok := c.Catalog.(Adviser); ok {
		if advice := a.Advice(kind, name); advice != "" {
			return advice + "; " + hint
		}
	}
	return hint
}
