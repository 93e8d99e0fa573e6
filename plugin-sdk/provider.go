package sdk

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Provider drives an agent or a model. Execute performs one whole attempt. It reports events
// through the exchange and returns when the agent is done.
//
// When ctx is cancelled, Execute stops the agent, ends every child process and returns. An error is
// preferably a [failure.Error]; any other error counts as provider_failed. Calls may overlap unless
// the component's Concurrency is [ConcurrencySerial].
type Provider interface {
	Describe() Component
	Execute(ctx context.Context, req ExecuteRequest, x Exchange) (ExecuteResult, error)
}

// Purpose is the kernel's reason for an attempt.
type Purpose string

// PurposeWork is a stage's iteration; PurposeQuestion is a termination strategy's question,
// answered in text.
const (
	PurposeWork     Purpose = "work"
	PurposeQuestion Purpose = "question"
)

// ExecuteRequest describes one attempt.
type ExecuteRequest struct {
	// Key identifies the attempt permanently, Epoch the kernel start that issued it. Together they
	// are the idempotency key of every effect in the attempt.
	Key   string
	Epoch int
	// Session, Node, Stage, Iteration, Attempt and Visit are the attempt's position in the run. The
	// numbers count from 1. Node is the node's ID, Stage the stage's name (may be empty).
	Session   string
	Node      string
	Stage     string
	Iteration int
	Attempt   int
	Visit     int
	// Purpose is [PurposeWork] unless a strategy asks a question.
	Purpose Purpose
	// Prompt is the complete text for the agent.
	Prompt string
	// Model is the provider's own model name, "" for the provider's default.
	Model string
	// Config is the provider's configuration as a JSON object, as the user wrote it. Default:
	// empty.
	Config json.RawMessage
	// WorkDir is the absolute path of the agent's working directory.
	WorkDir string
	// Environment is added to the plugin's own environment for the agent.
	Environment map[string]string
	// Paths are the files that the prompt may ask the agent to read or write. A provider does not
	// write them itself. Only a provider that runs commands writes the result and the artifact.
	Paths Paths
	// Timeout limits the whole attempt, IdleTimeout the agent's longest silence; 0 means no limit. The
	// kernel enforces deadlines of its own as well.
	Timeout     time.Duration
	IdleTimeout time.Duration
	// Grace is the time between the agent's SIGTERM and SIGKILL. Default: 5 s.
	Grace time.Duration
	// Resume is set when an earlier attempt was interrupted after a checkpoint.
	Resume *Resume
	// Budget is the attempt's maximum consumption; nil means no limit. If possible, a provider
	// stops its agent before the limit. The kernel always counts the reported usage.
	Budget *Budget
	// Mode restricts the models and the network access of tools. "" means open.
	Mode Mode
	// Tools limits the tools of a provider that has its own.
	Tools ToolLimits
	// MaxTurns is the maximum number of model replies; 0 means the provider's own limit.
	MaxTurns int
	// StepID and Step are the ID of the attempt's step and the plan's item for it, a JSON value;
	// empty outside steps. The prompt always describes the step.
	StepID string
	Step   json.RawMessage
	// ArtifactSchema is the JSON Schema of the node's artifact, a JSON value. It is empty if the
	// node has no artifact, or if another attempt makes the artifact.
	ArtifactSchema json.RawMessage
	// Contract states that the node has a contract. The run then continues by the outcome, feedback
	// and escalation in result.json. Without a contract, only the decision in it is read.
	Contract bool
	// ArtifactTool is the name of the tool that submits the artifact as its arguments, "" for none.
	// A provider with its own tools offers it, with ArtifactSchema for its parameters.
	ArtifactTool string
	// Run is a command of the pipeline's author that runs instead of a model, and Input the JSON
	// object on its standard input. Both are empty except for providers that run commands.
	Run   string
	Input json.RawMessage
}

// Mode restricts where the models of a run may be. Providers whose locality depends on their
// configuration ([LocalityConfigured]) enforce the mode in Validate and on every connection.
type Mode string

// The modes (REQUIREMENTS K4).
const (
	ModeOpen      Mode = "open"       // any model
	ModeBurst     Mode = "burst"      // any model, with longer limits and more retries
	ModeLocalOnly Mode = "local-only" // models on this machine, or in networks that the user declares local
	ModeAirgapped Mode = "airgapped"  // as local-only, and no tool that reaches the network
)

// Local reports whether the mode allows only local models.
func (m Mode) Local() bool { return m == ModeLocalOnly || m == ModeAirgapped }

// ToolLimits limits an agent's tools. Zero values mean the provider's defaults.
type ToolLimits struct {
	AllowedCommands []string      // program names; nil is the provider's list, empty allows none
	CommandTimeout  time.Duration // per command
	MaxResultTokens int           // per result, as the model sees it
	// Protected are globs of paths, relative to the working directory, that tools neither change
	// nor show in searches. They add to the provider's own protected paths.
	Protected []string
	// ReadOnly states that the agent may change no file of the working directory. A provider with
	// [CapabilityConfinedTools] starts its tools by confine.ReadOnlyTool.
	ReadOnly bool
	// MaxViolations is the maximum number of calls in an attempt that are refused (ACODE-EXEC-004). One more ends the
	// attempt as a sandbox violation.
	MaxViolations int
}

// Budget limits the consumption of one attempt. A nil pointer means no limit.
type Budget struct {
	MaxUSD    *float64 `json:"max_usd,omitempty"`
	MaxTokens *int64   `json:"max_tokens,omitempty"` // input and output, without cached input
}

// Paths holds absolute paths of an attempt's files. An empty path means that the attempt has no such file.
type Paths struct {
	Context  string `json:"context,omitempty"`  // context.json, to read
	Status   string `json:"status,omitempty"`   // status.json, which older prompts ask for
	Result   string `json:"result,omitempty"`   // result.json, which the prompt asks for
	Progress string `json:"progress,omitempty"` // the progress file, to which the agent appends
	Output   string `json:"output,omitempty"`   // the agent's own report, if the prompt asks for one
	Attempt  string `json:"attempt,omitempty"`  // a private directory of this attempt, for blobs too large for a message
	Artifact string `json:"artifact,omitempty"` // the node's artifact, to write

	InputArtifact string `json:"input_artifact,omitempty"` // the node's input artifact, to read
}

// Resume is the saved state of an interrupted attempt.
type Resume struct {
	Checkpoint Checkpoint
	// Calls are the tool calls after the checkpoint, in order. A call with a result is complete and
	// must not be repeated. A call without a result was interrupted; ask again for the kernel's verdict.
	Calls []ResumedCall
}

// ResumedCall is a tool call from the journal: secrets removed, long lists and texts truncated, and
// without Preview and Reason.
type ResumedCall struct {
	Call   ToolCall
	Result *ToolResult
}

// Outcome classifies the end of an attempt, for all providers alike.
type Outcome string

// The outcomes of an attempt. The zero value means succeeded when Execute returns no error.
const (
	OutcomeSucceeded        Outcome = "succeeded"
	OutcomeFailed           Outcome = "failed"            // the agent reports that it could not do the work
	OutcomeEmpty            Outcome = "empty"             // the agent ended normally without any work or text
	OutcomePermissionDenied Outcome = "permission_denied" // the agent was denied a permission that it needed
	OutcomeRateLimited      Outcome = "rate_limited"      // the service asked for a later retry
	OutcomeNeedsPerson      Outcome = "needs_person"      // the agent waits for the user: a login, a licence, an answer
	OutcomeInfrastructure   Outcome = "infrastructure"    // network, process or service failed
)

// ExecuteResult is the result of an attempt. If Execute also returns an error, the result still
// holds the output and usage known so far.
type ExecuteResult struct {
	// Output is the text for the user. Default: the concatenated output chunks of the exchange.
	Output string
	// Outcome classifies the end; it is never derived from the exit code alone.
	Outcome Outcome
	// ExitCode is the exit code of the agent process: -1 after a signal, 0 for providers without a
	// process.
	ExitCode int
	// Duration is the agent's running time.
	Duration time.Duration
	// Usage is nil if the provider does not know the usage; unknown is not zero.
	Usage *Usage
	// Model and AgentVersion are the model and agent version that ran, "" if unknown.
	Model        string
	AgentVersion string
	// Conversation is the agent's own ID of the conversation, for a resume. It may be empty.
	Conversation string
	// Error is set if Outcome is not succeeded although Execute returns no error.
	Error *failure.Error
}
