package mock

import (
	"encoding/json"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Config is the configuration of the provider. It may stand in the pipeline (the provider's config), in
// the file that MOCK_CONFIG names, and as mock.json in the directory of fixtures. All of them
// are asked, in this order.
type Config struct {
	// Replies are tried in their order; the first match is played. When none of any
	// configuration matches, the fixtures are, and without fixtures the built-in text.
	Replies []Reply `json:"replies,omitempty"`
	// FixturesDir is replaces MOCK_FIXTURES_DIR. Relative to the work directory.
	FixturesDir string `json:"fixtures_dir,omitempty"`
	// DelayMS is the delay of replies without one, in milliseconds; it replaces MOCK_DELAY.
	DelayMS *int `json:"delay_ms,omitempty"`
	// Record is a file to which every request is appended as a line of JSON. Relative to the work directory.
	Record string `json:"record,omitempty"`
}

// Match says which requests a reply is for. Unset members match everything.
type Match struct {
	Node           string      `json:"node,omitempty"`
	Stage          string      `json:"stage,omitempty"`
	Session        string      `json:"session,omitempty"`
	Iteration      int         `json:"iteration,omitempty"`
	Attempt        int         `json:"attempt,omitempty"`
	Visit          int         `json:"visit,omitempty"`
	Step           string      `json:"step,omitempty"` // the id of a step of the node
	Epoch          int         `json:"epoch,omitempty"`
	Purpose        sdk.Purpose `json:"purpose,omitempty"`
	PromptContains string      `json:"prompt_contains,omitempty"`
	// Provider is the name of the provider that the mock stands in for (MOCK_PROVIDER).
	Provider string `json:"provider,omitempty"`
	// Resumed asks for attempts that go on from a checkpoint, or for those that do not.
	Resumed *bool `json:"resumed,omitempty"`
	// Times limits how often the reply is used in the life of a plugin process. 0 is no limit.
	Times int `json:"times,omitempty"`
}

// Reply is one attempt, as it is configured. The zero value succeeds with the built-in text and result.
//
// In the texts that the agent says or writes (output, output_chunks, messages, progress, and all in the files),
// ${VISIT}, ${ITERATION}, ${ATTEMPT}, ${STEP} and ${NODE} are replaced. In result, status and artifact a text that
// is nothing but one of the first three becomes a number.
type Reply struct {
	Match
	Fault

	// Output is what the agent says. Unset: the fixture's or the built-in text.
	Output *string `json:"output,omitempty"`
	// OutputRepeat says Output so many times over, for outputs beyond any limit. Default 1.
	OutputRepeat int `json:"output_repeat,omitempty"`
	// OutputChunks is said piece by piece instead of Output, ChunkDelayMS apart.
	OutputChunks []string `json:"output_chunks,omitempty"`
	ChunkDelayMS int      `json:"chunk_delay_ms,omitempty"`
	// Stderr is the agent's diagnostic output.
	Stderr string `json:"stderr,omitempty"`
	// Messages are shown in the live view one after the other.
	Messages []string `json:"messages,omitempty"`

	// At most one of these four is set: the object for the result file, the object for the status
	// file, a text for the result file that need not be JSON, or no file at all.
	Result    json.RawMessage `json:"result,omitempty"`
	Status    json.RawMessage `json:"status,omitempty"`
	RawResult *string         `json:"raw_result,omitempty"`
	NoResult  bool            `json:"no_result,omitempty"`
	// Artifact is the object that is written to artifact.yaml in the directory of the result, as JSON, which is
	// YAML, too; RawArtifact is a text for it that need not be either, ArtifactFile a file with that text, relative to
	// the work directory. At most one of them is set.
	Artifact     json.RawMessage `json:"artifact,omitempty"`
	RawArtifact  *string         `json:"raw_artifact,omitempty"`
	ArtifactFile string          `json:"artifact_file,omitempty"`
	// Progress is appended to the progress file.
	Progress string `json:"progress,omitempty"`

	// Usage, Model and AgentVersion are reported as they are. Model defaults to the one asked for. An attempt whose
	// usage is more than its budget ends before it begins, unless IgnoreBudget lets it pass the budget.
	Usage        *sdk.Usage `json:"usage,omitempty"`
	IgnoreBudget bool       `json:"ignore_budget,omitempty"`
	Model        string     `json:"model,omitempty"`
	AgentVersion string     `json:"agent_version,omitempty"`
	Conversation string     `json:"conversation,omitempty"`

	// ToolCalls are made in their order, before the output.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Checkpoint is saved before the first tool call.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// Spawn leaves a process behind.
	Spawn *Spawn `json:"spawn,omitempty"`

	// ExitCode is the agent's. One that is not 0 fails the attempt as provider_crashed unless Failure
	// or Outcome says otherwise; it is also the code of crash: exit.
	ExitCode int `json:"exit_code,omitempty"`
	// Outcome classifies the end. One that is not succeeded goes with an error, by default provider_failed.
	Outcome sdk.Outcome `json:"outcome,omitempty"`
	// At is the moment of Crash and Hang: "start", "before_result" (default) or "after_result".
	At string `json:"at,omitempty"`
}

// The moments of a reply's crash or hang.
const (
	atStart        = "start"
	atBeforeResult = "before_result"
	atAfterResult  = "after_result"
)

// Checkpoint is a configured checkpoint. On resume the mock makes the tool calls that follow it.
type Checkpoint struct {
	Turn int    `json:"turn,omitempty"`
	Blob string `json:"blob,omitempty"`
}

// matches reports whether the reply is for the request; uses are not counted here.
func (m Match) matches(req sdk.ExecuteRequest, standsFor string) bool {
	purpose := req.Purpose
	if purpose == "" {
		purpose = sdk.PurposeWork
	}
	return unsetOrEqual(m.Node, req.Node) && unsetOrEqual(m.Stage, req.Stage) && unsetOrEqual(m.Session, req.Session) &&
		unsetOrEqual(m.Iteration, req.Iteration) && unsetOrEqual(m.Attempt, req.Attempt) && unsetOrEqual(m.Visit, req.Visit) &&
		unsetOrEqual(m.Step, stepID(req)) && unsetOrEqual(m.Epoch, req.Epoch) &&
		unsetOrEqual(m.Purpose, purpose) && unsetOrEqual(m.Provider, standsFor) && strings.Contains(req.Prompt, m.PromptContains) &&
		(m.Resumed == nil || *m.Resumed == (req.Resume != nil))
}

// unsetOrEqual reports whether a condition is unset or met.
func unsetOrEqual[T comparable](want, got T) bool {
	var unset T
	return want == unset || want == got
}
