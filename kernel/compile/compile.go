package compile

import (
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Request is what a compilation starts from.
type Request struct {
	Roots
	// File is the pipeline file; a relative path is taken from the project, one of [Roots.FindPipeline] as it is. Stage
	// ignores it.
	File string
	// Text is the pipeline instead of the file's content, as if it lay at File. Nil: the file is read.
	Text []byte
	// Session is the name of the session that the plan is for.
	Session string
	// Now becomes compiled_at and created_at.
	Now time.Time
	// Overrides are the settings of the command line; they win over everything.
	Overrides Overrides
	// Env are the settings of the environment; they win over the files.
	Env Env
	// Defaults are what the files of settings say; stage and pipeline win over them.
	Defaults Defaults
	// DefaultProvider is used where nobody names a provider. Empty makes that a fault.
	DefaultProvider string
	// Catalog knows the installed components. It must not be nil.
	Catalog Catalog
}

// Overrides are what the command line says over the files. Zero values say nothing.
type Overrides struct {
	Provider string
	Model    string
	Context  string
	Inputs   []string          // paths, globs and directories, after those of the pipeline
	Commands map[string]string // key by key over those of stage and pipeline
	Sandbox  *plan.Sandbox     // the least isolation; it narrows what the files say
	// Mode is the weakest mode; it narrows what the files say.
	Mode string
	// Skip are the ids of nodes of the pipeline itself that are left out.
	Skip []string
	// Timeouts of attempts by the ids of nodes, over policy.timeout; embedded nodes and stages of blocks included.
	Timeouts map[string]time.Duration
	// MaxCycles is the limit of every counted edge, 0: as the files say.
	MaxCycles int
	// Timeout is that of the run, 0: as the files say.
	Timeout time.Duration
	// Start and ExitAfter are ids of nodes of the pipeline itself, Iterate those after which a person is asked; Supervised
	// asks after every node but the last.
	Start, ExitAfter string
	Supervised       bool
	Iterate          []string
	// Artifacts are files by the names that they were given.
	Artifacts map[string]string
}

// Defaults are what the files of settings say for whatever the pipeline's own files leave open. Zero
// values say nothing.
type Defaults struct {
	Provider string
	Delay    *float64          // seconds between iterations
	Commands map[string]string // key by key under those of stage and pipeline
	// File and At are where the provider is named.
	File string
	At   yamldoc.Pos
}

// Env holds the values of CLAUDE_PIPELINE_PROVIDER, _MODEL and _CONTEXT, as the caller read them.
type Env struct {
	Provider string
	Model    string
	Context  string
}

// Catalog knows the components that a plan may name.
type Catalog interface {
	// Provider resolves a name or an alias to the canonical name and the provider's default model,
	// which may be empty.
	Provider(name string) (canonical, defaultModel string, ok bool)
	// Providers lists the canonical names, sorted.
	Providers() []string
	// Termination says whether a termination strategy of that name exists.
	Termination(name string) bool
	// Terminations lists the names, sorted.
	Terminations() []string
	// HookAction resolves a name or an alias to the canonical name of the action of a plugin.
	HookAction(name string) (canonical string, ok bool)
	// HookActions lists the canonical names, sorted; the kernel's own actions are not among them.
	HookActions() []string
}

// Adviser is implemented by a [Catalog] that may know why something is missing.
type Adviser interface {
	// Advice says what to do about a component that does not exist, "" if nothing is known.
	Advice(kind sdk.Kind, name string) string
}

// Result is a successful compilation.
type Result struct {
	Plan *plan.Plan
	// Warnings are what the author should know, sorted by position.
	Warnings diagnostic.List
	// Library lists the stage directories of the library that the plan uses ("stages/idea-wizard"),
	// sorted. The plan's prompt paths point to copies of them below [LibraryDir]; who starts the run
	// makes the copies.
	Library []string
}

// LibraryDir is where the copies of library stages of a session lie, relative to the project.
func LibraryDir(session string) string {
	return filepath.Join(".claude", "pipeline-runs", session, "library")
}

// Pipeline compiles a pipeline file. The error is a [diagnostic.List] that holds every fault and warning
// found.
func Pipeline(req Request) (*Result, error) {
	file := req.absolutePath(req.File)
	c := newCompiler(req)
	if req.Text != nil {
		return c.pipeline(file, req.Text)
	}
	data, problem := req.ReadPipeline(file)
	if problem != "" {
		c.document(c.display(file)).Errorf(start, diagnostic.CodeRead, "", "%s", problem)
		return nil, c.diagnostics.Sorted()
	}
	return c.pipeline(file, data)
}

// Loop is a stage that runs alone.
type Loop struct {
	Stage string // the stage's name
	Max   int    // the most iterations, 0 for [DefaultLoopMax]
}

// DefaultLoopMax is the number of iterations of a loop whose command gives none.
const DefaultLoopMax = 25

// Stage compiles a stage that runs alone, as a loop, to a plan with one node. The stage's own
// termination.max is not used, as in the Bash engine. The error is a [*NotFoundError] if there is no
// such stage, else a [diagnostic.List].
func Stage(req Request, loop Loop) (*Result, error) {
	dir, err := req.FindStage(loop.Stage, "")
	if err != nil {
		return nil, err
	}
	c := newCompiler(req)
	return c.finish(c.stageLoop(dir, loop))
}
