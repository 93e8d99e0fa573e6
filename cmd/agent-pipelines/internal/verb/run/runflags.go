package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// InputFlags holds the flags for a session's provider, model and input.
type InputFlags struct {
	Provider string            `help:"Use this provider for all stages."`
	Model    string            `help:"Use this model for all stages."`
	Context  string            `help:"Text for the agents, in prompts as $${CONTEXT}."`
	Input    []string          `sep:"none" placeholder:"FILE" help:"A file, directory or glob as initial input; repeatable."`
	Command  map[string]string `mapsep:"none" placeholder:"NAME=CMD" help:"A command for the agents, such as test='make test'; repeatable."`
}

// Flags holds the flags of the verbs that start a session.
type Flags struct {
	InputFlags

	Force     bool `help:"Take the session over from another process; restart a finished one."`
	Resume    bool `help:"Resume the session instead of starting it."`
	Recompile bool `help:"No effect, for compatibility with the Bash engine: every new run compiles."`

	ModeFlag

	backgroundFlags
	cleanupFlag
	waitFlags
	FlowFlags
	SandboxFlags
}

// ModeFlag restricts the location of models.
type ModeFlag struct {
	Mode string `placeholder:"MODE" group:"Isolation:" help:"Location of models: open, burst (anywhere, more retries), local-only, or airgapped (tools without network too). Files can only narrow it."`
}

// Check returns an error for invalid flags and for flags that contradict each other.
func (f *Flags) Check() error {
	if f.Resume && f.Recompile {
		return cli.UsageError("--resume and --recompile contradict each other: a resumed session keeps its plan",
			"leave one of them out; a changed pipeline starts as a new session, or with --force from the beginning")
	}
	if _, err := f.policy(); err != nil {
		return err
	}
	if f.Mode != "" && !slices.Contains(plan.Modes(), f.Mode) {
		return cli.UsageError(fmt.Sprintf("there is no mode '%s'", f.Mode), "write %s", strings.Join(plan.Modes(), ", "))
	}
	if err := f.Apply(&engine.RunOptions{}); err != nil {
		return err
	}
	_, err := f.selected()
	return err
}

// Options returns the run's options without the stage or pipeline. Flags take precedence over the variables
// PIPELINE_CLI_* of wrapper scripts.
func (f *Flags) Options(a *cli.App) (engine.RunOptions, error) {
	inputs := f.Input
	if len(inputs) == 0 {
		var err error
		if inputs, err = parseList(a.Getenv("PIPELINE_CLI_INPUTS")); err != nil {
			return engine.RunOptions{}, err
		}
	}
	sandbox, err := f.policy()
	if err != nil {
		return engine.RunOptions{}, err
	}
	o := engine.RunOptions{
		Sandbox:  sandbox,
		Mode:     f.Mode,
		Provider: cmp.Or(f.Provider, a.Getenv("PIPELINE_CLI_PROVIDER")),
		Model:    cmp.Or(f.Model, a.Getenv("PIPELINE_CLI_MODEL")),
		Context:  cmp.Or(f.Context, a.Getenv("PIPELINE_CLI_CONTEXT")),
		Inputs:   inputs, Commands: f.Command, Force: f.Force, Wait: f.Wait, Notes: f.notes(),
		EnvProvider: a.Getenv("CLAUDE_PIPELINE_PROVIDER"),
		EnvModel:    a.Getenv("CLAUDE_PIPELINE_MODEL"),
		EnvContext:  a.Getenv("CLAUDE_PIPELINE_CONTEXT"),
	}
	err = f.Apply(&o)
	return o, err
}

// Arguments returns the flags that give the same options in another process, independent of its environment.
func (f *Flags) Arguments(o engine.RunOptions) []string {
	var args []string
	for _, flag := range []struct{ name, value string }{
		{"--provider", o.Provider}, {"--model", o.Model}, {"--context", o.Context}, {"--mode", o.Mode},
	} {
		if flag.value != "" {
			args = append(args, flag.name+"="+flag.value)
		}
	}
	for _, input := range o.Inputs {
		args = append(args, "--input="+input)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Commands)) {
		args = append(args, "--command="+name+"="+o.Commands[name])
	}
	args = append(args, flowArguments(o)...)
	args = append(args, entryArguments(o)...)
	args = append(args, sandboxArguments(o.Sandbox)...)
	if o.Force {
		args = append(args, "--force")
	}
	if o.Wait {
		args = append(args, "--wait")
	}
	return args
}

// ignoredOnResume returns a message on flags that a resume ignores, including the flags further; "" for none.
func (f *Flags) ignoredOnResume(further []string) string {
	ignored := givenNames([]flagState{
		{"--provider", f.Provider != ""},
		{"--model", f.Model != ""},
		{"--mode", f.Mode != ""},
		{"--input", len(f.Input) > 0},
		{"--command", len(f.Command) > 0},
	})
	ignored = slices.Concat(ignored, f.names(), further)
	if len(ignored) == 0 {
		return ""
	}
	return fmt.Sprintf("Ignored: %s; a resumed session keeps its plan.", strings.Join(ignored, ", "))
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
