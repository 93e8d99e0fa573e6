package judge

import (
	"context"
	_ "embed" // the schema of the configuration
	"os"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

//go:embed config.schema.json
var schema []byte

// Plugin returns the plugin agent-plugin-judge. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: "judge", Version: version, Terminations: []sdk.Termination{New()}}
}

// Strategy is the termination strategy. Use [New]. It is safe for concurrent use.
type Strategy struct {
	getenv func(string) string

	mu      sync.Mutex
	workDir string // set by Init, "" before
}

// New returns a strategy that uses the environment of the process.
func New() *Strategy { return &Strategy{getenv: os.Getenv} }

// Describe implements [sdk.Termination].
func (s *Strategy) Describe() sdk.Component {
	return sdk.Component{
		Name:         "judge",
		Aliases:      []string{"judgment"},
		Summary:      "stops when a judge model says stop several times in a row",
		ConfigSchema: schema,
		Capabilities: []string{sdk.CapabilityShared},
		Needs: &sdk.Needs{
			Read: []string{ // the directories of prompts
				"${AGENT_PIPELINES_ROOT}", "${XDG_CONFIG_HOME}/agent-pipelines/prompts", "~/.config/agent-pipelines/prompts",
			},
			Environment: []string{ // that of the Bash engine: U274, U296
				"AGENT_PIPELINES_ROOT", "JUDGE_MODEL", "JUDGE_PROMPT_PATH", "JUDGE_PROVIDER", "MOCK_MODE", "PLATEAU_TEST_MODE", "XDG_CONFIG_HOME",
			},
		},
	}
}

// Init implements [sdk.Initializer]: it stores the directory in which Validate searches the judge's prompt.
func (s *Strategy) Init(_ context.Context, req sdk.InitRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workDir = req.WorkDir
	return nil
}

// Validate implements [sdk.Validator]. After Init it also requires the judge's prompt, so that a missing prompt is
// found before the first iteration.
func (s *Strategy) Validate(_ context.Context, req sdk.ValidateRequest) error {
	c, err := s.readSettings(req.Config)
	if err != nil {
		return err
	}
	s.mu.Lock()
	workDir := s.workDir
	s.mu.Unlock()
	if workDir == "" || c.agentsDecide || s.getenv(envMock) == "true" {
		return nil
	}
	_, err = s.readTemplate(c, workDir)
	return err
}
