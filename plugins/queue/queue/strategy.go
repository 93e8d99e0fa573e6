package queue

import (
	"context"
	_ "embed" // the schema of the configuration
	"os"
	"strings"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

//go:embed config.schema.json
var schema []byte

// Plugin returns the plugin agent-plugin-queue. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: "queue", Version: version, Terminations: []sdk.Termination{New()}}
}

// Strategy is the termination strategy. Use [New]. It is safe for concurrent use.
type Strategy struct {
	environ func() []string

	mu      sync.Mutex
	workDir string // set by Init
}

// New returns a strategy that uses the environment of the process.
func New() *Strategy { return &Strategy{environ: os.Environ} }

// Describe implements [sdk.Termination].
func (s *Strategy) Describe() sdk.Component {
	return sdk.Component{
		Name:         "queue",
		Aliases:      []string{"beads-empty"},
		Summary:      "stops when a queue is empty: the session's ready beads, or the lines of a command",
		ConfigSchema: schema,
		Needs:        &sdk.Needs{Commands: true, Environment: []string{sdk.AllVariables}},
	}
}

// Init implements [sdk.Initializer]: it stores the directory in which Release runs bd.
func (s *Strategy) Init(_ context.Context, req sdk.InitRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workDir = req.WorkDir
	return nil
}

// Validate implements [sdk.Validator]: it requires a valid configuration whose program exists.
func (s *Strategy) Validate(_ context.Context, req sdk.ValidateRequest) error {
	c, err := readConfig(req.Config)
	if err != nil {
		return err
	}
	_, err = findProgram(s.env(), c.program())
	return err
}

func (s *Strategy) env() []string { return cliagent.Environ(s.environ(), nil) }

// label returns the label of a session's beads.
func (s *Strategy) label(c Config, session string) string {
	if c.Label != "" {
		return strings.ReplaceAll(c.Label, "${SESSION}", session)
	}
	if prefix := cliagent.Getenv(s.environ(), envLabelPrefix); prefix != "" {
		return prefix + session
	}
	return defaultLabelPrefix + session
}

// beadsProgram is the program of the default queue.
const beadsProgram = "bd"

// findProgram returns the absolute path of a command's program. Errors are of kind config_invalid and name the
// missing program.
func findProgram(env []string, program string) (string, error) {
	path, err := cliagent.Lookup("queue", program, "", env)
	if err == nil {
		return path, nil
	}
	f := failure.New(failure.ConfigInvalid, "queue: program %q is not in PATH", program)
	if program == beadsProgram {
		return "", f.WithHint("install beads (bd), or set termination.command to a command that prints one line for each remaining item")
	}
	return "", f.WithHint("set termination.command to a program in PATH or to an absolute path")
}
