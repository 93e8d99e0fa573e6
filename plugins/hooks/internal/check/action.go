package check

import (
	"context"
	_ "embed" // the schema of the configuration
	"encoding/json"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

//go:embed schema.json
var schema []byte

// defaultLimit is how long a check may take where the hook does not say.
const defaultLimit = 2 * time.Minute

// outcomeFail is what a check that did not pass makes of a node's outcome.
const outcomeFail = "fail"

// Facts are what a check measured, the JSON of [sdk.HookAnswer.Facts]. They stay below about 10 KiB.
type Facts struct {
	Type   string `json:"type"`
	Passed bool   `json:"passed"`
	// Reason says why it did not pass, in one line; "" where it passed.
	Reason string `json:"reason,omitempty"`
	// ExitCode is the command's, -1 where a signal ended it; nil where no command was run.
	ExitCode   *int  `json:"exit_code,omitempty"`
	DurationMS int64 `json:"duration_ms"`
	// Counts are files that match (file, content), warnings (command with max_warnings), or passed,
	// failed and skipped (tests).
	Counts map[string]int `json:"counts,omitempty"`
	// Failed are the names of tests that failed, PassedTests of those that passed: the first of them each, and in a last
	// text how many more there are. They are empty where the report has counts and no names.
	Failed      []string `json:"failed,omitempty"`
	PassedTests []string `json:"passed_tests,omitempty"`
	// Output is the end of what the command printed, without colours.
	Output string `json:"output,omitempty"`
}

// Check is the hook action check. Use [New]. It is safe for concurrent use.
type Action struct{ runner *firing.Runner }

// New returns the action. Its commands get the process's environment.
func New() *Action { return &Action{firing.NewRunner()} }

// Describe implements [sdk.HookAction].
func (c *Action) Describe() sdk.Component {
	return sdk.Component{
		Name:         "check",
		Summary:      "measures a file, a command or its tests; what fails makes the node fail",
		ConfigSchema: schema,
		Concurrency:  sdk.ConcurrencySafe,
		Needs:        &sdk.Needs{Commands: true},
	}
}

// Validate implements [sdk.Validator].
func (c *Action) Validate(_ context.Context, req sdk.ValidateRequest) error {
	_, err := readConfig(req.Config)
	return err
}

// Run measures. The answer always continues; its Facts are [Facts], and its Outcome is "fail" where the
// check did not pass. What cannot be measured, a program that is missing or output without a test, is an
// error and never a pass.
func (c *Action) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	config, err := readConfig(req.Config)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	var facts Facts
	began := time.Now()
	switch config.Type {
	case typeFile, typeContent:
		facts, err = measureFiles(config, req.WorkDir)
	case typeCommand:
		facts, err = c.measureCommand(ctx, config, req)
	default:
		facts, err = c.measureTests(ctx, config, req)
	}
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	facts.Type, facts.Passed, facts.DurationMS = config.Type, facts.Reason == "", time.Since(began).Milliseconds()
	raw, err := json.Marshal(facts)
	if err != nil {
		return sdk.HookAnswer{}, failure.New(failure.HookFailed, "check: write the facts: %w", err)
	}
	answer := sdk.HookAnswer{Action: sdk.ActionContinue, Facts: raw}
	if !facts.Passed {
		answer.Outcome = outcomeFail
	}
	return answer, nil
}

// measureError is the failure of a check that says nothing, neither good nor bad.
func measureError(format string, args ...any) *failure.Error {
	return failure.New(failure.HookFailed, "check: "+format, args...)
}
