package check

import (
	"context"
	_ "embed" // the schema of the configuration
	"encoding/json"
	"os"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

//go:embed schema.json
var schema []byte

// outcomeFail is the node outcome of a check that did not pass.
const outcomeFail = "fail"

// Action is the hook action check. Use [New]. It is safe for concurrent use.
type Action struct{ runner *firing.Runner }

// New returns the action. Its commands inherit the process's environment.
func New() *Action { return &Action{firing.NewRunner()} }

// Describe implements [sdk.HookAction].
func (c *Action) Describe() sdk.Component {
	return sdk.Component{
		Name:         "check",
		Summary:      "measures files, a command or its tests; a failed check fails the node",
		ConfigSchema: schema,
		Capabilities: []string{sdk.CapabilityConfinedTools},
		Needs:        &sdk.Needs{Commands: true, Environment: []string{sdk.AllVariables}},
	}
}

// Validate implements [sdk.Validator].
func (c *Action) Validate(_ context.Context, req sdk.ValidateRequest) error {
	_, err := readConfig(req.Config)
	return err
}

// Run performs the check. The answer always continues; its Facts are [Facts], and its Outcome is "fail" if the check
// did not pass. A check that cannot measure, because of a missing program or output without a test, is an error and
// never passes.
func (c *Action) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	config, err := readConfig(req.Config)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	root, err := os.OpenRoot(req.WorkDir)
	if err != nil {
		return sdk.HookAnswer{}, measureError("open the project: %w", err)
	}
	defer func() { _ = root.Close() }()
	var facts Facts
	start := time.Now()
	switch config.Type {
	case typeFile, typeContent:
		facts, err = measureFiles(config, root)
	case typeCommand:
		facts, err = measureCommand(ctx, c.runner, config, req, root)
	default:
		facts, err = measureTests(ctx, c.runner, config, req, root)
	}
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	facts.Type, facts.Passed, facts.DurationMS = config.Type, facts.Reason == "", time.Since(start).Milliseconds()
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
