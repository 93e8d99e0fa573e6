package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
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
	mode         string    // the strictest mode of these files and of the overrides

	checkSources   map[*plan.Check]dialect.Map      // the YAML of each check
	wrapsLocations map[*plan.Wraps]dialect.Location // locations of the wrapped commands

	embeddedPlans map[string]*plan.Plan // by path; nil for a file without a plan
	sizes         map[*plan.Plan]int    // numbers of nodes
	hasBlocks     bool                  // the pipeline has a parallel block
	singleStage   bool                  // a stage runs alone
	validateOnly  bool                  // the plan is not for a run
}

func newCompiler(req Request) *compiler {
	if req.OverrideLabel == nil {
		req.OverrideLabel = func(override string) string { return override }
	}
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

// include is a pipeline file that is being compiled.
type include struct {
	path    string // absolute, without symbolic links; identifies the file
	display string // name in messages
}

// overrideLocation returns the location of an override.
func (c *compiler) overrideLocation(name string) dialect.Location {
	return c.externalLocation(c.OverrideLabel(name))
}

// externalLocation returns the location of an argument or an environment variable.
func (c *compiler) externalLocation(name string) dialect.Location {
	return dialect.Location{Document: c.document(name)}
}

// planOverrides returns the overrides for the plan: those of the command line, else of the environment; nil for
// none.
func (c *compiler) planOverrides() *plan.Overrides {
	overrides := c.Overrides
	overrides.Provider = cmp.Or(overrides.Provider, c.Env.Provider)
	overrides.Model = cmp.Or(overrides.Model, c.Env.Model)
	overrides.Context = cmp.Or(overrides.Context, c.Env.Context)
	if reflect.ValueOf(overrides).IsZero() {
		return nil
	}
	return &overrides
}
