package script

import (
	"cmp"
	"context"
	_ "embed" // the schema of the configuration
	"path/filepath"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

//go:embed schema.json
var schema []byte

// defaultLimit is the time limit of a script whose hook sets no timeout.
const defaultLimit = 30 * time.Second

// Action is the hook action script. Use [New]. It is safe for concurrent use.
type Action struct{ runner *firing.Runner }

// New returns the action. Its scripts inherit the process's environment.
func New() *Action { return &Action{firing.NewRunner()} }

// Describe implements [sdk.HookAction].
func (s *Action) Describe() sdk.Component {
	return sdk.Component{
		Name:         "script",
		Summary:      "runs a command in the project; its output becomes context",
		ConfigSchema: schema,
		Needs:        &sdk.Needs{Commands: true, Environment: []string{sdk.AllVariables}},
	}
}

// Validate implements [sdk.Validator].
func (s *Action) Validate(_ context.Context, req sdk.ValidateRequest) error {
	_, err := readConfig(req.Config)
	return err
}

// Run runs the script and returns its standard output as context. A non-zero exit code is a failure of kind
// hook_failed. The output of a script that failed or exceeded its limit never becomes context.
func (s *Action) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	c, err := readConfig(req.Config)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	printed := firing.HeadBuffer{Max: firing.MaxContext}
	run := c.command(req.WorkDir)
	run.Limit, run.Stdout, run.Stderr = cmp.Or(req.Timeout, defaultLimit), printed.Add, func([]byte) {}
	end, err := s.runner.Run(ctx, run, req)
	switch {
	case err != nil:
		return sdk.HookAnswer{}, err
	case !end.Clean():
		return sdk.HookAnswer{}, failure.New(failure.HookFailed, "%s", end.Failure().Message).WithDetail(end.Stderr).
			WithHint("run it by hand in the project, or continue the run without it with on_error: continue")
	}
	return firing.AllowedAnswer(req.Point, firing.ContextAnswer(printed.String())), nil
}

// command returns the configured command.
func (c Config) command(workDir string) firing.Command {
	run := firing.ShellCommand("the script", c.Command)
	if c.Script != "" {
		run = firing.Command{Name: "the script " + c.Script, Path: c.Script, Args: c.Args}
		if !filepath.IsAbs(c.Script) {
			run.Path = filepath.Join(workDir, c.Script)
		}
	}
	run.Env = c.Env
	return run
}
