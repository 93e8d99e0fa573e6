package engine

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// RunOptions say what to run. Exactly one of Pipeline, Text, Stage and Plan is needed.
type RunOptions struct {
	// Pipeline is a pipeline's name or the path of its file.
	Pipeline string
	// Text is the YAML of a pipeline that lies in no file. Paths in it are relative to the project.
	Text string
	// Stage is the name of a stage to be run alone, as a loop of at most Max iterations (0: 25).
	Stage string
	Max   int
	// Plan is a plan that is there already: from [Engine.Compile], or made by the program. It is not changed,
	// and may be run in several sessions, at once too. Context, Commands, Artifacts and Fields go over what it says, but
	// for the commands in its checks; Provider, Model, Inputs, Skip, Start, ExitAfter, Supervised, Iterate, Timeout,
	// Timeouts and MaxCycles are in a plan for good, and refused beside one with [ErrOptions].
	Plan *plan.Plan
	// Runs is how often the whole pipeline runs in the session, one run after the other. 0 and 1: once. A
	// stage repeats by Max alone.
	Runs int
	// Session names the session. Default: the stage's name, the name that a plan was compiled for, or the
	// pipeline's with the time.
	Session string
	// NamedAfter makes up the name of the session from that of the pipeline also where this was asked for by its name;
	// without it, such a session is called pipeline-<time>, as the Bash engine has it.
	NamedAfter bool
	// Provider, Model, Context, Inputs and Commands win over what the files say.
	Provider string
	Model    string
	Context  string
	Inputs   []string
	Commands map[string]string
	// Skip are the ids of nodes of the pipeline itself that are left out: their outcome is skip. One that is required
	// is a fault, as is one that does not exist.
	Skip []string
	// Timeouts are those of attempts by the ids of nodes, over policy.timeout in the files; nodes of embedded pipelines
	// and stages of blocks included.
	Timeouts map[string]time.Duration
	// MaxCycles is how often each edge that leads back may be taken, 1 to 10. 0: as the files say.
	MaxCycles int
	// Timeout is that of the whole run, over policy.timeout. 0: as the files say.
	Timeout time.Duration
	// Start is the id of the node of the pipeline itself that the run begins with, ExitAfter that of the one after which
	// it is complete. Default: as the files say, the first and the last one.
	Start     string
	ExitAfter string
	// Supervised asks a person after every node but the last, Iterate after the nodes of the pipeline itself with the ids;
	// the files may ask for more.
	Supervised bool
	Iterate    []string
	// Artifacts are files, YAML or JSON, by name: where a node of the pipeline itself has the name, the file stands for
	// that node's artifact and must fit its contract; otherwise it is a field of the artifact that the run starts with.
	// A relative path is taken from the project.
	Artifacts map[string]string
	// Fields are further fields of the artifact that the run starts with, which has original_request and request_id.
	Fields map[string]string
	// Mode is the weakest mode of every node, also when the session is resumed: see [plan.Modes]. The files and the
	// settings of user and project can only narrow it. Default: what they say, else open.
	Mode string
	// Sandbox is the least isolation of every plugin process of the session, also when it is resumed; the files
	// can only narrow it, and their paths are not granted beside its own. Nil: as the files and the user's
	// settings say.
	Sandbox *plan.Sandbox
	// EnvProvider, EnvModel and EnvContext are the values of CLAUDE_PIPELINE_PROVIDER, _MODEL and
	// _CONTEXT: over the files, under the fields above.
	EnvProvider string
	EnvModel    string
	EnvContext  string
	// Force takes over a session that another kernel holds, and starts a finished one again.
	Force bool
	// Wait: somebody is there to answer the questions that the run asks. It then waits for them running and holds
	// the session, instead of pausing.
	Wait bool
	// Notes are events for the journal that only inform, of what was done before the run; it begins with
	// them.
	Notes []event.Event
	// Observe is called with everything that happens, in order, from one goroutine; it has to return
	// soon. Subscribe is for slower readers.
	Observe func(Update)
}

// ResumeOptions say how a session goes on.
type ResumeOptions struct {
	Session string
	// Runs is how often the session was said to run its pipeline, for a caller that has been told so again;
	// another number than the session's is refused. 0: whatever the session has.
	Runs int
	// Context is text for the agent's next prompts.
	Context string
	// SkipFailedStep counts the steps that failed as done: what depends on them is made. It is refused with [ErrOptions]
	// where no step failed.
	SkipFailedStep bool
	// ResetCycles counts all cycles anew.
	ResetCycles bool
	// Again is the id of a node of the pipeline itself that is done once more, as a new visit with the feedback that it
	// had: the one that the session rests at, or with Reopen any that ran in a session that is completed. The run goes on
	// from there by the pipeline's edges. [ErrOptions] says why a node cannot be.
	Again  string
	Reopen bool
	// By says who resumes, for the journal.
	By string
	// Force takes over a session that another kernel holds, and gives a run that has used up its guardrail the
	// time once more.
	Force bool
	// Wait works as in [RunOptions].
	Wait bool
	// Sandbox narrows the isolation that the session was started with, until this resume ends; its paths are granted
	// beside those.
	Sandbox *plan.Sandbox
	// Notes works as in [RunOptions].
	Notes []event.Event
	// Observe works as in [RunOptions].
	Observe func(Update)
}

// Update is one thing that happened in a session.
type Update struct {
	Session string
	// Missed is how many updates a [Subscription] left out just before this one. An update may have nothing
	// else; its Session is the one subscribed to, "" where that is all of them. Observers miss nothing.
	Missed int
	// Event is an event of the journal, with the state after it, or nil for a report, warnings or a gap.
	Event *event.Event
	State *state.State
	// Report is what an agent reported last; it is not journaled.
	Report *Report
	// Warnings are what the author of the pipeline should know: told once, before the first event of a run or
	// resume and without one, and again in its [Result].
	Warnings Diagnostics
	// Plan is the session's plan, Dir the absolute path of its directory.
	Plan *plan.Plan
	Dir  string
}

// Report is what an agent reported last.
type Report = attempt.Report

// Result is how a run ended or why it waits.
type Result struct {
	Session string `json:"session"`
	RunID   string `json:"run_id"`
	// Success: the run is completed and did not merely reach a maximum.
	Success bool         `json:"success"`
	Status  state.Status `json:"status"`
	// Mode is loop or pipeline.
	Mode string `json:"mode"`
	// Reason is the completion reason, the reason of the pause or of the abort.
	Reason    string          `json:"reason,omitempty"`
	PauseKind state.PauseKind `json:"pause_kind,omitempty"`
	PauseCode string          `json:"pause_code,omitempty"` // of what made a person needed
	// Failure is the error record of a failed run, nil otherwise.
	Failure *event.FailureData `json:"error,omitempty"`
	// Completed are the ids of the nodes that were completed, in order, in the last run of the pipeline.
	Completed []string `json:"stages_completed"`
	// Stages are all nodes of the plan, in its order, with how each of them ended or stands.
	Stages []StageResult `json:"stages"`
	// Run is the run of the whole pipeline that the session is at or has ended with, and Runs how many there
	// are; 0 where it runs once.
	Run  int `json:"run,omitempty"`
	Runs int `json:"runs,omitempty"`
	// Deliverable is what a completed run has delivered, nil for nothing.
	Deliverable *Deliverable `json:"deliverable,omitempty"`
	// Dir is the absolute path of the session's directory.
	Dir string `json:"dir"`
	// Usage is the sum over all that was asked of providers in the session, failed attempts too.
	Usage    event.Usage   `json:"usage"`
	Duration time.Duration `json:"duration_ns"` // of this run or resume
	// ResumeCommand goes on with a run that can be resumed, "" otherwise.
	ResumeCommand string `json:"resume_command,omitempty"`
	// Questions are those that it waits for.
	Questions []Question `json:"questions,omitempty"`
	// Warnings are what the author of the pipeline should know.
	Warnings Diagnostics `json:"warnings,omitempty"`
	// Secrets were found in files that agents wrote, in this run or resume. The files stay as they are.
	Secrets []event.SecretFoundData `json:"secrets_found,omitempty"`
}

// Deliverable is the artifact that a run has delivered: that of the last node of the pipeline, in the order of its list, that
// ended well (or was skipped) and has one.
type Deliverable struct {
	Stage    string `json:"stage"`          // the node's id
	Path     string `json:"path"`           // its place in the plan
	Artifact string `json:"artifact"`       // absolute path of the file, with its envelope
	Type     string `json:"type,omitempty"` // of the artifact, by its contract
}

// Diagnostics are the faults or warnings of pipeline files, each with file, line and column. It is
// an error where it holds faults.
type Diagnostics = diagnostic.List

// NotFoundError says that a pipeline or stage is in none of the places where it was looked for.
type NotFoundError = compile.NotFoundError
