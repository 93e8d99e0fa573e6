package hooks

import (
	"context"
	_ "embed" // the schema of the configuration
	"path/filepath"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

//go:embed script.schema.json
var scriptSchema []byte

// scriptLimit is how long a script may take where the hook does not say.
const scriptLimit = 30 * time.Second

// Script is the hook action script. Use [NewScript]. It is safe for concurrent use.
type Script struct{ runner *runner }

// NewScript returns the action. Its scripts get the process's environment.
func NewScript() *Script { return &Script{newRunner()} }

// Describe implements [sdk.HookAction].
func (s *Script) Describe() sdk.Component {
	return sdk.Component{
		Name:         "script",
		Summary:      "runs a command in the project; what it prints becomes context",
		ConfigSchema: scriptSchema,
		Concurrency:  sdk.ConcurrencySafe,
		Needs:        &sdk.Needs{Commands: true},
	}
}

// Validate implements [sdk.Validator].
func (s *Script) Validate(_ context.Context, req sdk.ValidateRequest) error {
	_, err := readScriptConfig(req.Config)
	return err
}

// Run runs the script and answers with what it printed to stdout. A script that ends with another exit
// code than 0 is a failure of kind hook_failed; what a script printed before it failed or was ended for
// its time never becomes context.
func (s *Script) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	c, err := readScriptConfig(req.Config)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	printed := head{max: maxContext}
	run := c.command(req.WorkDir)
	run.limit, run.stdout, run.stderr = limitOf(req, scriptLimit), printed.write, func([]byte) {}
	end, err := s.runner.run(ctx, run, req)
	switch {
	case err != nil:
		return sdk.HookAnswer{}, err
	case !end.Clean():
		return sdk.HookAnswer{}, failure.New(failure.HookFailed, "%s", end.Failure().Message).WithDetail(end.Stderr).
			WithHint("run it by hand in the project; on_error: continue lets the run go on without it")
	}
	return atPoint(req.Point, injecting(printed.String())), nil
}

// command is what the configuration names.
func (c ScriptConfig) command(workDir string) command {
	run := inShell(c.name(), c.Command)
	if c.Script != "" {
		file := c.Script
		if !filepath.IsAbs(file) {
			file = filepath.Join(workDir, file)
		}
		run.path, run.args = file, c.Args
	}
	run.env = c.Env
	return run
}

// name is the script in messages.
func (c ScriptConfig) name() string {
	if c.Script != "" {
		return "the script " + c.Script
	}
	return "the script"
}
