package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// InputFlags holds the flags for a session's provider, model and input.
type InputFlags struct {
	Provider string            `help:"Use this provider for all stages."`
	Model    string            `help:"Use this model for all stages."`
	Context  string            `help:"Text for the agents, in prompts as $${CONTEXT}."`
	Input    []string          `sep:"none" placeholder:"FILE" help:"A file, directory or glob as initial input; repeatable."`
	Command  map[string]string `mapsep:"none" placeholder:"NAME=CMD" help:"A command for the agents, such as test='make test'; repeatable."`
}

// SessionFlags holds the flags of a new session.
type SessionFlags struct {
	InputFlags
	FlowFlags
	ModeFlag
	SandboxFlags
}

// Flags holds the flags of the verbs loop and pipeline.
type Flags struct {
	SessionFlags

	Force     bool `help:"Override the lock of another process; restart a finished session."`
	Resume    bool `help:"Resume the session instead of starting it."`
	Recompile bool `help:"No effect, for compatibility with the Bash engine: every new run compiles."`

	backgroundFlags
	waitFlag
}

// waitFlag selects whether a session waits for the answer to a question.
type waitFlag struct {
	Wait bool `help:"Wait for answers instead of pausing; a terminal prompts in any case."`
}

// Runs is the number of runs of a whole pipeline, 0 if absent.
type Runs int

// maxRuns is the largest number of runs. The counts of nested runs, which grow with it, have at most nine digits in event
// keys.
const maxRuns = 999_999

// UnmarshalText reads a number from 1 to maxRuns.
func (r *Runs) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > maxRuns {
		return fmt.Errorf("a pipeline cannot run %q times: give a number from 1 to %d, or leave it out", text, maxRuns)
	}
	*r = Runs(n)
	return nil
}

// ModeFlag restricts the location of models.
type ModeFlag struct {
	Mode string `enum:"open,burst,local-only,airgapped," default:"" placeholder:"MODE" group:"Isolation:" help:"Location of models: open, burst (anywhere, more retries), local-only, or airgapped (tools without network too). Files can only narrow it."`
}

// Options returns the options of a run without its stage or pipeline. It refuses flags that contradict each other.
func (f *Flags) Options(a *cli.App) (engine.RunOptions, error) {
	if f.Resume && f.Recompile {
		return engine.RunOptions{}, cli.UsageError("--resume and --recompile contradict each other: a resumed session keeps its plan",
			"leave one of them out; a changed pipeline starts as a new session, or with --force from the beginning")
	}
	o, err := f.SessionFlags.Options(a)
	o.Force, o.Wait = f.Force, f.Wait
	return o, err
}

// Options returns the options of a run without its stage or pipeline. Flags take precedence over the variables
// PIPELINE_CLI_* of wrapper scripts.
func (f *SessionFlags) Options(a *cli.App) (engine.RunOptions, error) {
	sandbox, err := f.policy()
	if err != nil {
		return engine.RunOptions{}, err
	}
	inputs := f.Input
	if len(inputs) == 0 {
		if inputs, err = parseList(a.Getenv("PIPELINE_CLI_INPUTS")); err != nil {
			return engine.RunOptions{}, err
		}
	}
	o := engine.RunOptions{
		Sandbox:  sandbox,
		Mode:     f.Mode,
		Provider: cmp.Or(f.Provider, a.Getenv("PIPELINE_CLI_PROVIDER")),
		Model:    cmp.Or(f.Model, a.Getenv("PIPELINE_CLI_MODEL")),
		Context:  cmp.Or(f.Context, a.Getenv("PIPELINE_CLI_CONTEXT")),
		Inputs:   inputs, Commands: f.Command,
		EnvProvider: a.Getenv("CLAUDE_PIPELINE_PROVIDER"),
		EnvModel:    a.Getenv("CLAUDE_PIPELINE_MODEL"),
		EnvContext:  a.Getenv("CLAUDE_PIPELINE_CONTEXT"),
	}
	err = f.Apply(&o)
	return o, err
}

// SetFlags returns the flags of a verb that are among names and that the command line sets.
func SetFlags(verb *kong.Node, names ...string) []string {
	var set []string
	for _, flag := range verb.Flags {
		if slices.Contains(names, flag.Name) && !flag.Target.IsZero() {
			set = append(set, "--"+flag.Name)
		}
	}
	return set
}

// parseList parses a list in an environment variable: a JSON array of strings, or one entry per line.
func parseList(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	if !strings.HasPrefix(text, "[") {
		return strings.Split(text, "\n"), nil
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, cli.UsageError("PIPELINE_CLI_INPUTS is not a JSON array of strings: "+err.Error(),
			"write it as [\"a.md\",\"b.md\"], or as one path per line")
	}
	return list, nil
}
