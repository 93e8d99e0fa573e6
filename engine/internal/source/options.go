package source

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// RunOptions selects the run. Exactly one of Pipeline, Text, Stage and Plan is required.
type RunOptions struct {
	// Pipeline is a pipeline's name or path.
	Pipeline string
	// Text is the YAML of a pipeline without a file. Its paths are relative to the project.
	Text string
	// Stage is the name of a stage to run alone, as a loop of at most Max iterations (0: 25).
	Stage string
	Max   int
	// Plan is a compiled plan, from [engine.Engine.Compile] or built by the program. It is not changed, and may run
	// in several sessions at once.
	//
	// Context, Commands, Artifacts and Fields override the plan, except for the commands in its checks.
	// Provider, Model, Inputs, Skip, Start, ExitAfter, Supervised, Iterate, Timeout, Timeouts and MaxCycles
	// are fixed in a plan; setting them as well is [environment.ErrOptions].
	Plan *plan.Plan
	// Runs is the number of consecutive runs of the whole pipeline. 0 and 1: once. For a stage use Max.
	Runs int
	// Session names the session. Default: the stage's name, the session name that the plan was compiled for,
	// or the pipeline's name with the time.
	Session string
	// NameAfterPipeline generates the session name from the pipeline's name even if the pipeline is given by name.
	// Without it such a session is called pipeline-<time>, as in the Bash engine.
	NameAfterPipeline bool
	// Provider, Model, Context, Inputs and Commands override the files.
	Provider string
	Model    string
	Context  string
	Inputs   []string
	Commands map[string]string
	// Skip lists ids of nodes of the pipeline itself to skip; their outcome is skip. A required or unknown
	// node is a fault.
	Skip []string
	// Timeouts overrides policy.timeout by node id, for each attempt. It accepts nodes of embedded pipelines
	// and stages of blocks.
	Timeouts map[string]time.Duration
	// MaxCycles bounds how often each edge that leads back may be taken, 1 to 10. 0: as in the files.
	MaxCycles int
	// Timeout bounds the whole run and overrides policy.timeout. 0: as in the files.
	Timeout time.Duration
	// Start and ExitAfter are the ids of the first and the last node to run, not of nodes of an embedded pipeline.
	// Default: as in the files, else the first and the last node.
	Start     string
	ExitAfter string
	// Supervised asks the user after every node but the last, Iterate after the listed nodes of the pipeline
	// itself. The files may require more questions.
	Supervised bool
	Iterate    []string
	// Artifacts maps names to YAML or JSON files. If a node of the pipeline itself has the name, the file
	// replaces its artifact and must meet its contract; otherwise it is a field of the run's input artifact.
	// Relative paths are relative to the project.
	Artifacts map[string]string
	// Fields adds fields to the run's input artifact, which has original_request and request_id.
	Fields map[string]string
	// Mode is the weakest mode of every node, also after a resume: see [plan.Modes]. Files and settings can
	// only narrow it. Default: as in the files and settings, else open.
	Mode string
	// Sandbox is the minimum isolation of every plugin process of the session, also after a resume. The files
	// can only narrow it, and their paths are not granted in addition. Nil: as in the files and the user's
	// settings.
	Sandbox *plan.Sandbox
	// EnvProvider, EnvModel and EnvContext are the values of CLAUDE_PIPELINE_PROVIDER, _MODEL and _CONTEXT.
	// They override the files; the fields above override them.
	EnvProvider string
	EnvModel    string
	EnvContext  string
	// Force restarts an existing session in its directory, even if another kernel holds it.
	Force bool
	// Wait makes the run wait for answers to its questions while holding the session, instead of pausing.
	Wait bool
	// Notes holds informational events about the time before the run; the journal of the run begins with
	// them.
	Notes []event.Event
	// Observe is called with every update, in order, never concurrently; it must return quickly. Slow readers
	// use Subscribe.
	Observe func(inspect.Update) `json:"-"`
}

// overrides returns the options that override the files.
func (o RunOptions) overrides() plan.Overrides {
	var timeouts map[string]float64
	for id, d := range o.Timeouts {
		if timeouts == nil {
			timeouts = map[string]float64{}
		}
		timeouts[id] = d.Seconds()
	}
	return plan.Overrides{
		Provider: o.Provider, Model: o.Model, Context: o.Context, Inputs: o.Inputs, Commands: o.Commands, Sandbox: o.Sandbox, Mode: o.Mode,
		PathOverrides: plan.PathOverrides{
			Skip: o.Skip, Timeouts: timeouts, MaxCycles: o.MaxCycles, Timeout: o.Timeout.Seconds(),
			Start: o.Start, ExitAfter: o.ExitAfter, Supervised: o.Supervised, Iterate: o.Iterate,
		},
		Artifacts: o.Artifacts,
	}
}

// Check returns an error unless exactly one source is named and Max, Mode and Runs are valid.
func (o RunOptions) Check() error {
	count := 0
	for _, set := range []bool{o.Pipeline != "", o.Text != "", o.Stage != "", o.Plan != nil} {
		if set {
			count++
		}
	}
	if count != 1 {
		return fmt.Errorf("%w: exactly one of Pipeline, Text, Stage and Plan is required", environment.ErrOptions)
	}
	switch {
	case o.Max < 0:
		return fmt.Errorf("%w: invalid Max %d: want at least 0", environment.ErrOptions, o.Max)
	case o.Mode != "" && !slices.Contains(plan.Modes(), o.Mode):
		return fmt.Errorf("%w: unknown mode %q: want one of %s", environment.ErrOptions, o.Mode, strings.Join(plan.Modes(), ", "))
	case o.Runs < 0:
		return fmt.Errorf("%w: invalid Runs %d: want at least 0", environment.ErrOptions, o.Runs)
	case o.Runs > 1 && o.Stage != "":
		return fmt.Errorf("%w: Runs is %d for a stage: use Max", environment.ErrOptions, o.Runs)
	}
	return nil
}

// RunCount returns Runs as journaled: 0 for a single run.
func (o RunOptions) RunCount() int {
	if o.Runs < 2 {
		return 0
	}
	return o.Runs
}
