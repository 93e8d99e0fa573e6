package judge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Config holds the keys of a node's termination block that the strategy reads. It ignores other keys, because the
// kernel reads the same block and a node inherits the keys of its stage.
type Config struct {
	// MinIterations is the number of iterations before the first question to the judge. Default 1.
	MinIterations Count `json:"min_iterations"`
	// Consensus is the number of stops in a row that end the stage. Default 2.
	Consensus Count `json:"consensus"`
	// Criteria replaces ${TERMINATION_CRITERIA} in the prompt: a text, or any JSON. Default {}.
	Criteria json.RawMessage `json:"criteria"`
	// OnJudgeFailure is the reaction to an unreliable judge: continue without it (default), or fail.
	OnJudgeFailure string `json:"on_judge_failure"`
	// Judge holds the settings of the judge.
	Judge Judge `json:"judge"`
}

// Judge holds the settings of the judge.
type Judge struct {
	// Provider answers the questions. JUDGE_PROVIDER overrides it. Default claude.
	Provider string `json:"provider"`
	// Model is the provider's model. JUDGE_MODEL overrides it. Default haiku for claude, else the provider's
	// default.
	Model string `json:"model"`
	// Prompt is the file of the prompt template, relative to the work directory. JUDGE_PROMPT_PATH overrides it.
	// For the default see [Strategy.Decide].
	Prompt string `json:"prompt"`
	// Attempts is the largest number of calls for one decision; a call is repeated if the provider fails. Default 2, at
	// most [sdk.MaxQuestionRounds].
	Attempts Count `json:"attempts"`
	// MaxFailures is the number of failed decisions in a row after which the judge counts as unreliable. Default 3.
	MaxFailures Count `json:"max_failures"`
}

// Count is a whole number. JSON may give it as a text, as the YAML of older pipelines does.
type Count int

// UnmarshalJSON implements [json.Unmarshaler]; null leaves the count as it is.
func (c *Count) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "null" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%s is not a whole number", raw)
	}
	*c = Count(n)
	return nil
}

// The variables that the strategy reads. If a variable is not set, or the kernel does not pass it to the plugin, the
// configuration decides.
const (
	envProvider   = "JUDGE_PROVIDER"
	envModel      = "JUDGE_MODEL"
	envPrompt     = "JUDGE_PROMPT_PATH"
	envTestMode   = "PLATEAU_TEST_MODE"    // "1": the agents' stop hints count instead of a judge
	envMock       = "MOCK_MODE"            // "true": a mock answers for every model; without a prompt there is no question
	envHome       = "HOME"                 // for the user's prompts
	envConfigHome = "XDG_CONFIG_HOME"      // for the user's prompts
	envRoot       = "AGENT_PIPELINES_ROOT" // directory of shared stages and prompts
)

const (
	onFailureContinue = "continue"
	onFailureFail     = "fail"
)

// settings is a configuration with all defaults and variables applied.
type settings struct {
	Config
	agentsDecide bool
}

// readSettings decodes a configuration and applies the environment and the defaults.
func (s *Strategy) readSettings(raw json.RawMessage) (settings, error) {
	c := settings{
		Config: Config{
			MinIterations: 1, Consensus: 2, Criteria: json.RawMessage("{}"), OnJudgeFailure: onFailureContinue,
			Judge: Judge{Attempts: 2, MaxFailures: 3},
		},
		agentsDecide: s.getenv(envTestMode) == "1",
	}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &c.Config); err != nil {
			return settings{}, decodeError(err)
		}
	}
	if err := c.check(); err != nil {
		return settings{}, err
	}
	c.Judge.Provider = cmp.Or(s.getenv(envProvider), c.Judge.Provider, "claude")
	c.Judge.Model = cmp.Or(s.getenv(envModel), c.Judge.Model)
	if c.Judge.Model == "" && c.Judge.Provider == "claude" {
		c.Judge.Model = "haiku"
	}
	c.Judge.Prompt = cmp.Or(s.getenv(envPrompt), c.Judge.Prompt)
	return c, nil
}

func decodeError(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return failure.New(failure.ConfigInvalid, "termination: %s has the wrong type: got %s", mismatch.Field, mismatch.Value)
	}
	return failure.New(failure.ConfigInvalid, "termination: %w", err)
}

// check returns one error for all invalid values.
func (c settings) check() error {
	var problems []string
	for _, count := range []struct {
		key      string
		n        Count
		min, max Count
	}{
		{"min_iterations", c.MinIterations, 0, 0},
		{"consensus", c.Consensus, 1, 0},
		{"judge.attempts", c.Judge.Attempts, 1, sdk.MaxQuestionRounds},
		{"judge.max_failures", c.Judge.MaxFailures, 1, 0},
	} {
		switch {
		case count.n < count.min:
			problems = append(problems, fmt.Sprintf("%s is %d, want at least %d", count.key, count.n, count.min))
		case count.max > 0 && count.n > count.max:
			problems = append(problems, fmt.Sprintf("%s is %d, want at most %d", count.key, count.n, count.max))
		}
	}
	if w := c.OnJudgeFailure; w != onFailureContinue && w != onFailureFail {
		problems = append(problems, fmt.Sprintf("on_judge_failure is %q, want %s or %s", w, onFailureContinue, onFailureFail))
	}
	if problems == nil {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "termination: %s", strings.Join(problems, "; "))
}
