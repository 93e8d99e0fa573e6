package engine

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/exchange"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
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
	// Plan is a compiled plan, from [Engine.Compile] or built by the program. It is not changed, and may run
	// in several sessions at once.
	//
	// Context, Commands, Artifacts and Fields override the plan, except for the commands in its checks.
	// Provider, Model, Inputs, Skip, Start, ExitAfter, Supervised, Iterate, Timeout, Timeouts and MaxCycles
	// are fixed in a plan; setting them beside it is [ErrOptions].
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
	// Start is the id of the first node to run, ExitAfter that of the last one; both of the pipeline itself.
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
	// Force takes over a session that another kernel holds, and restarts an ended one.
	Force bool
	// Wait makes the run wait for answers to its questions while holding the session, instead of pausing.
	Wait bool
	// Notes holds informational events about the time before the run; the journal of the run begins with
	// them.
	Notes []event.Event
	// Observe is called with every update, in order, never concurrently; it must return quickly. Slow readers
	// use Subscribe.
	Observe func(Update)
}

// ResumeOptions selects the session to resume and changes its run.
type ResumeOptions struct {
	Session string
	// Runs repeats the number of runs given at the start; another number than the session's is refused. 0:
	// unspecified.
	Runs int
	// Context is added to the agent's next prompts.
	Context string
	// SkipFailedStep treats failed steps as done, so that dependent steps run. Without a failed step it is
	// [ErrOptions].
	SkipFailedStep bool
	// ResetCycles resets the counts of all cycles.
	ResetCycles bool
	// Rerun is the id of a node of the pipeline itself to rerun, as a new visit with its previous feedback:
	// the node where the session paused or, with Reopen, any node that ran in a completed session. The run
	// continues by the pipeline's edges. A node that cannot be rerun is [ErrOptions].
	Rerun  string
	Reopen bool
	// By names the person or program that resumes, for the journal.
	By string
	// Force takes over a session that another kernel holds, and extends an exhausted time limit once.
	Force bool
	// Wait works as in [RunOptions].
	Wait bool
	// Sandbox narrows the session's isolation until this resume ends; its paths are granted in addition.
	Sandbox *plan.Sandbox
	// Notes works as in [RunOptions].
	Notes []event.Event
	// Observe works as in [RunOptions].
	Observe func(Update)
}

// Update is one change in a session.
type Update struct {
	Session string
	// Missed is the number of updates that a [Subscription] dropped just before this one. Such an update may
	// hold nothing else; its Session is then that of the subscription, "" for all. Observers miss nothing.
	Missed int
	// Event is a journaled event and State the state after it; nil for a report, warnings or a gap.
	Event *event.Event
	State *state.State
	// Report is an agent's progress report; it is not journaled.
	Report *Report
	// Warnings holds the compiler's warnings. They are sent once, without an event, before the first event of
	// a run or resume, and repeated in its [Result].
	Warnings Diagnostics
	// Plan is the session's plan, Dir the absolute path of its directory.
	Plan *plan.Plan
	Dir  string
}

// Report is an agent's progress report.
type Report = exchange.Report

// Result describes how a run ended or why it paused.
type Result struct {
	Session string `json:"session"`
	RunID   string `json:"run_id"`
	// Success reports that the run completed without merely reaching its iteration limit.
	Success bool         `json:"success"`
	Status  state.Status `json:"status"`
	// Mode is loop or pipeline.
	Mode string `json:"mode"`
	// Reason is the reason of the completion, pause or abort.
	Reason    string          `json:"reason,omitempty"`
	PauseKind state.PauseKind `json:"pause_kind,omitempty"`
	PauseCode string          `json:"pause_code,omitempty"` // of an escalation
	// Failure is the error of a failed run, else nil.
	Failure *event.FailureData `json:"error,omitempty"`
	// Completed lists the ids of the completed nodes, in order, in the last run of the pipeline.
	Completed []string `json:"stages_completed"`
	// Stages holds the result of every node, in plan order.
	Stages []StageResult `json:"stages"`
	// Run is the current or last run of the whole pipeline, Runs their number; both 0 if it runs once.
	Run  int `json:"run,omitempty"`
	Runs int `json:"runs,omitempty"`
	// Deliverable is the artifact that a completed run delivers, nil for none.
	Deliverable *Deliverable `json:"deliverable,omitempty"`
	// Dir is the absolute path of the session's directory.
	Dir string `json:"dir"`
	// Usage sums the usage of all provider calls of the session, including failed attempts.
	Usage    event.Usage   `json:"usage"`
	Duration time.Duration `json:"duration_ns"` // of this run or resume
	// ResumeCommand resumes the session, "" if it cannot be resumed.
	ResumeCommand string `json:"resume_command,omitempty"`
	// Questions holds the questions that the session waits for.
	Questions []Question `json:"questions,omitempty"`
	// Warnings holds the compiler's warnings.
	Warnings Diagnostics `json:"warnings,omitempty"`
	// Secrets lists secrets found in files that agents wrote in this run or resume. The files are not
	// changed.
	Secrets []event.SecretFoundData `json:"secrets_found,omitempty"`
}

// Deliverable is the artifact that a run delivers: that of the last node of the pipeline, in list order, that
// succeeded or was skipped and has one.
type Deliverable struct {
	Stage    string `json:"stage"`          // the node's id
	Path     string `json:"path"`           // path in the plan
	Artifact string `json:"artifact"`       // absolute path of the file, with its envelope
	Type     string `json:"type,omitempty"` // of the artifact, from its contract
}

// Diagnostics lists faults and warnings of files, each with file, line and column. It is an error if it
// contains faults.
type Diagnostics = yamldoc.Diagnostics

// NotFoundError means that a pipeline or stage is in none of the searched places.
type NotFoundError = sources.NotFoundError
