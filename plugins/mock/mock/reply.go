package mock

import (
	"cmp"
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
)

// Config is the configuration of the provider. Its sources, in order, are the provider's config in the pipeline, the
// file that MOCK_CONFIG names, and mock.json in the fixtures directory.
type Config struct {
	// Replies are tried in order; the first match is played. Without a match in any configuration the fixtures are
	// played, and without fixtures the built-in text.
	Replies []Reply `json:"replies,omitempty"`
	// DelayMS is the delay of replies that set none, in milliseconds; it replaces MOCK_DELAY.
	DelayMS *int `json:"delay_ms,omitempty"`
	// Record is a file, relative to the work directory, to which every request is appended as a line of JSON.
	Record string `json:"record,omitempty"`
}

// Match is a condition on requests. Unset members match everything.
type Match struct {
	Node           string      `json:"node,omitempty"`
	Stage          string      `json:"stage,omitempty"`
	Session        string      `json:"session,omitempty"`
	Iteration      int         `json:"iteration,omitempty"`
	Attempt        int         `json:"attempt,omitempty"`
	Visit          int         `json:"visit,omitempty"`
	Step           string      `json:"step,omitempty"` // the id of a step of the node
	Purpose        sdk.Purpose `json:"purpose,omitempty"`
	PromptContains string      `json:"prompt_contains,omitempty"`
	// Provider is the name of the provider that the mock replaces (MOCK_PROVIDER).
	Provider string `json:"provider,omitempty"`
	// Times limits the uses of the reply in one session by one plugin process. 0 is no limit.
	Times int `json:"times,omitempty"`
}

// Reply is the configuration of one attempt. The zero value succeeds with the built-in text and result.
//
// The texts of output, output_chunks, messages, progress, result, status, artifact and raw_artifact may contain
// ${VISIT}, ${ITERATION}, ${ATTEMPT}, ${STEP} and ${NODE}, which are replaced. A text in result, status or artifact
// that consists of one of the first three becomes a number.
type Reply struct {
	Match
	Fault

	// Output is the text of the agent. Unset: the fixture or the built-in text.
	Output *string `json:"output,omitempty"`
	// OutputRepeat repeats Output, for outputs beyond any limit. Default 1.
	OutputRepeat int `json:"output_repeat,omitempty"`
	// OutputChunks replaces Output by pieces that are sent ChunkDelayMS milliseconds apart.
	OutputChunks []string `json:"output_chunks,omitempty"`
	ChunkDelayMS int      `json:"chunk_delay_ms,omitempty"`
	// Stderr is the diagnostic output of the agent.
	Stderr string `json:"stderr,omitempty"`
	// Messages are shown in the live view, in order.
	Messages []string `json:"messages,omitempty"`

	// At most one of these three is set: the object of the result file, the object of the status file, or no file at
	// all.
	Result   json.RawMessage `json:"result,omitempty"`
	Status   json.RawMessage `json:"status,omitempty"`
	NoResult bool            `json:"no_result,omitempty"`
	// Artifact is an object, written as JSON to artifact.yaml beside the result. RawArtifact is any text for that
	// file, ArtifactFile a file to copy, relative to the work directory. At most one of them is set.
	Artifact     json.RawMessage `json:"artifact,omitempty"`
	RawArtifact  *string         `json:"raw_artifact,omitempty"`
	ArtifactFile string          `json:"artifact_file,omitempty"`
	// Progress is appended to the progress file.
	Progress string `json:"progress,omitempty"`

	// Usage, Model, AgentVersion and Conversation are reported unchanged. Model defaults to the model of the request. An
	// attempt whose usage exceeds its budget fails before it starts.
	Usage        *sdk.Usage `json:"usage,omitempty"`
	Model        string     `json:"model,omitempty"`
	AgentVersion string     `json:"agent_version,omitempty"`
	Conversation string     `json:"conversation,omitempty"`

	// ToolCalls are made in order, before the output.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Spawn leaves a process behind.
	Spawn *Spawn `json:"spawn,omitempty"`

	// ExitCode is the exit code of the agent. A non-zero code fails the attempt as provider_crashed unless Failure or
	// Outcome is set. It is also the code of crash: exit.
	ExitCode int `json:"exit_code,omitempty"`
	// Outcome classifies the attempt. Every outcome but succeeded has an error, by default provider_failed.
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

// matches reports whether the reply is for the request, regardless of its uses.
func (m Match) matches(req sdk.ExecuteRequest, provider string) bool {
	return unsetOrEqual(m.Node, req.Node) && unsetOrEqual(m.Stage, req.Stage) && unsetOrEqual(m.Session, req.Session) &&
		unsetOrEqual(m.Iteration, req.Iteration) && unsetOrEqual(m.Attempt, req.Attempt) && unsetOrEqual(m.Visit, req.Visit) &&
		unsetOrEqual(m.Step, stepID(req)) && unsetOrEqual(m.Purpose, cmp.Or(req.Purpose, sdk.PurposeWork)) &&
		unsetOrEqual(m.Provider, provider) && strings.Contains(req.Prompt, m.PromptContains)
}

// unsetOrEqual reports whether a condition is unset or met.
func unsetOrEqual[T comparable](want, got T) bool {
	var unset T
	return want == unset || want == got
}

// attemptKey matches the key of an attempt, <kind>:<node>/v<visit>/r<run>/<branch>/<step>/i<iteration>#<n>. Its
// group is the step.
var attemptKey = regexp.MustCompile(`^[a-z]+:[^/]*/v\d+/r\d+/[^/]+/([^/]+)/i\d+#\d+$`)

// stepID returns the id of the request's step; "" for a node without steps or a key of another form.
func stepID(req sdk.ExecuteRequest) string {
	m := attemptKey.FindStringSubmatch(req.Key)
	if len(m) == 0 || m[1] == "-" {
		return ""
	}
	return m[1]
}

// succeeds reports whether the reply is configured to succeed.
func (r Reply) succeeds() bool {
	return r.Failure == nil && r.ExitCode == 0 && (r.Outcome == "" || r.Outcome == sdk.OutcomeSucceeded)
}

// providerSchema is the JSON Schema of the configuration, and providerRules decodes by it. In each component the schema
// holds the rules for single values. Rules that concern several values are in the code.
var (
	//go:embed schema/provider.json
	providerSchema []byte
	providerRules  = schema.New(providerSchema)
)

// decodeConfig decodes and checks a configuration.
func decodeConfig(raw json.RawMessage) (Config, error) {
	var c Config
	if err := providerRules.Decode(raw, &c); err != nil {
		return Config{}, err
	}
	var problems []string
	for i, reply := range c.Replies {
		for _, problem := range reply.contradictions() {
			problems = append(problems, fmt.Sprintf("replies[%d]: %s", i, problem))
		}
	}
	if len(problems) > 0 {
		return Config{}, failure.New(failure.ConfigInvalid, "config: %s", strings.Join(problems, "; "))
	}
	return c, nil
}

// contradictions returns a message for each group of keys in the reply that exclude each other.
func (r Reply) contradictions() []string {
	var problems []string
	if r.Output != nil && r.OutputChunks != nil {
		problems = append(problems, "output and output_chunks exclude each other")
	}
	if r.Result != nil && r.Status != nil || r.NoResult && (r.Result != nil || r.Status != nil) {
		problems = append(problems, "result, status and no_result exclude each other")
	}
	if r.Artifact != nil && r.RawArtifact != nil || r.ArtifactFile != "" && (r.Artifact != nil || r.RawArtifact != nil) {
		problems = append(problems, "artifact, raw_artifact and artifact_file exclude each other")
	}
	return problems
}
