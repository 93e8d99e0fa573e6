package sdk

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Provider drives an agent or a model. Execute is one whole attempt: it returns when the agent is
// done, honours ctx (soft cancel: stop, clean up every child, return), and reports what happens on
// the way through the exchange. An error is best a [failure.Error]; any other error is taken as
// provider_failed. Unless Describe says serial, calls overlap.
type Provider interface {
	Describe() Component
	Execute(ctx context.Context, req ExecuteRequest, x Exchange) (ExecuteResult, error)
}

// Purpose says why the kernel asks.
type Purpose string

// Work is a stage's iteration; Question is a termination strategy's question, answered in text.
const (
	PurposeWork     Purpose = "work"
	PurposeQuestion Purpose = "question"
)

// ExecuteRequest is one attempt.
type ExecuteRequest struct {
	// Key identifies the attempt for ever, Epoch the kernel start that issued it: together they are
	// the idempotency key of every effect inside.
	Key   string
	Epoch int
	// Session, Node, Stage, Iteration, Attempt and Visit say where in the run this is. Iteration,
	// Attempt and Visit count from 1. Node is the node's id, Stage the stage's name (may be empty).
	Session   string
	Node      string
	Stage     string
	Iteration int
	Attempt   int
	Visit     int
	// Purpose is work unless a strategy asked.
	Purpose Purpose
	// Prompt is the text for the agent, complete.
	Prompt string
	// Model is the provider's own model name, "" for the provider's default.
	Model string
	// Config is a JSON object, the provider's configuration as the user wrote it; empty for none.
	Config json.RawMessage
	// WorkDir is the absolute path in which the agent works.
	WorkDir string
	// Environment is added to the plugin's own environment for the agent.
	Environment map[string]string
	// Paths are the files that the agent may be told to write. Providers write none of them, unless they are what
	// does the work, as those that run commands: then the result and the artifact are theirs.
	Paths Paths
	// Timeout is the time for the whole attempt, IdleTimeout the longest silence of the agent; zero
	// means none. The kernel has deadlines of its own besides.
	Timeout     time.Duration
	IdleTimeout time.Duration
	// Grace is how long the agent has between the polite and the final signal. Default 5 s.
	Grace time.Duration
	// Resume is set when an earlier attempt was cut off after a checkpoint.
	Resume *Resume
	// Budget is what this attempt may consume at most; nil: nothing limits it. A provider that can stop its
	// agent before it passes the limit does so; the kernel counts what the usage says in any case.
	Budget *Budget
	// Mode says which models may be asked and what tools may reach. "" is open.
	Mode Mode
	// Tools limit the tools of a provider that has its own.
	Tools ToolLimits
	// MaxTurns is how many replies of the model the attempt may take, 0 for the provider's own limit.
	MaxTurns int
	// StepID and Step are the step that the attempt works on: its id, and the plan's item for it, a JSON value;
	// empty outside steps. The prompt tells of the step in any case.
	StepID string
	Step   json.RawMessage
	// ArtifactSchema is the JSON Schema of the artifact that the node makes, a JSON value; empty where it has none,
	// or where another attempt makes it.
	ArtifactSchema json.RawMessage
	// Contract: the node has a contract, so that result.json may say how the work came out (outcome, feedback,
	// escalation) and the run goes on by it. Without one only decision is read.
	Contract bool
	// ArtifactTool is the name of the tool by whose arguments the artifact is handed over, "" for none: a provider that
	// has tools of its own offers one of that name, with ArtifactSchema for its parameters.
	ArtifactTool string
	// Run is a command of the pipeline's author that is to be run instead of asking a model, and Input the JSON object on
	// its standard input: for providers that run commands. Empty for all others.
	Run   string
	Input json.RawMessage
}

// Mode is a promise about where the models of a run are. Providers that keep it by their configuration alone
// ([LocalityConfigured]) enforce it in Validate and whenever they connect.
type Mode string

// The modes (REQUIREMENTS K4).
const (
	ModeOpen      Mode = "open"       // any model
	ModeBurst     Mode = "burst"      // any model, with more patience: longer limits, more retries
	ModeLocalOnly Mode = "local-only" // models on this machine, or in networks that the user calls local
	ModeAirgapped Mode = "airgapped"  // the same, and no tool that reaches the network
)

// Local reports whether the mode allows local models alone.
func (m Mode) Local() bool { return m == ModeLocalOnly || m == ModeAirgapped }

// ToolLimits bound the tools of an agent. Zero values are the provider's defaults.
type ToolLimits struct {
	AllowedCommands []string      // names of programs; nil is the provider's list, empty allows none
	CommandTimeout  time.Duration // of one command
	MaxResultTokens int           // of one result as the model sees it
	// Protected are globs of paths, relative to the working directory, that tools neither change nor show in a search,
	// beside those that the provider protects itself.
	Protected []string
}

// Budget limits what one attempt consumes. A nil pointer is no limit.
type Budget struct {
	MaxUSD    *float64
	MaxTokens *int64 // input and output, without what a cache served
}

// Paths are absolute. Empty ones do not exist for this attempt.
type Paths struct {
	Context  string // context.json, to be read
	Status   string // status.json, which older prompts tell the agent to write
	Result   string // result.json, which the agent is told to write
	Progress string // the progress file, to which the agent appends
	Output   string // where the agent's own report goes when the prompt asks for one
	Attempt  string // a private directory of this attempt, for blobs that do not fit in a message
	Artifact string // where the node's artifact goes

	InputArtifact string // the artifact that the node works from, to be read
}

// Resume hands back what an attempt had saved when it was cut off.
type Resume struct {
	Checkpoint Checkpoint
	// Calls are the tool calls after the checkpoint, in order. A call with a result is finished and
	// must not be made again; one without was cut off, and asking again yields the kernel's verdict.
	Calls []ResumedCall
}

// ResumedCall is a tool call known from the journal: without secrets, long lists and texts cut, and without what was only
// for the person who was asked (Preview, Reason).
type ResumedCall struct {
	Call   ToolCall
	Result *ToolResult
}

// Outcome says how an attempt ended, in words that hold for every provider.
type Outcome string

// The outcomes. The zero value is read as succeeded when Execute returns no error.
const (
	OutcomeSucceeded        Outcome = "succeeded"
	OutcomeFailed           Outcome = "failed"            // the agent says it could not do it
	OutcomeEmpty            Outcome = "empty"             // it ended well but did and said nothing
	OutcomePermissionDenied Outcome = "permission_denied" // it was refused what it needed
	OutcomeRateLimited      Outcome = "rate_limited"      // the service asked to come back later
	OutcomeNeedsPerson      Outcome = "needs_person"      // it waits for a login, a licence, an answer
	OutcomeInfrastructure   Outcome = "infrastructure"    // network, process or service failed
)

// ExecuteResult is what an attempt yields. It is also valid beside an error: whatever is known of
// output and usage is kept then.
type ExecuteResult struct {
	// Output is the text that a person reads. Empty: the output chunks of the exchange, joined.
	Output string
	// Outcome classifies the end; never derived from the exit code alone.
	Outcome Outcome
	// ExitCode is the agent process's, -1 if a signal ended it, 0 for providers without a process.
	ExitCode int
	// Duration is the time that the agent took.
	Duration time.Duration
	// Usage is nil when the provider does not know; unknown is not zero.
	Usage *Usage
	// Model and AgentVersion are what really ran, where it can be known.
	Model        string
	AgentVersion string
	// Conversation is the agent's own id of its session, by which it can be resumed. May be empty.
	Conversation string
	// Error is set where Outcome is not succeeded and Execute still returns no error.
	Error *failure.Error
}

// Usage counts tokens of one attempt. A nil pointer is unknown.
type Usage struct {
	InputTokens      *int64   `json:"input_tokens,omitempty"`       // without cache reads and writes
	OutputTokens     *int64   `json:"output_tokens,omitempty"`      // reasoning included
	CacheReadTokens  *int64   `json:"cache_read_tokens,omitempty"`  // input served from a cache
	CacheWriteTokens *int64   `json:"cache_write_tokens,omitempty"` // input written to a cache
	ReasoningTokens  *int64   `json:"reasoning_tokens,omitempty"`   // part of OutputTokens
	CostUSD          *float64 `json:"cost_usd,omitempty"`           // as the agent or its price list says
}
