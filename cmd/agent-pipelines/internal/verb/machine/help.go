package machine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/completion"
)

// Help is the verb `help [subject]`.
type Help struct {
	Subject string `arg:"" optional:"" help:"A verb, exit-codes or environment."`
	Part    string `arg:"" optional:"" help:"A subcommand of the verb, as in help plugins lock."`
}

// Run implements [cli.Verb].
func (v *Help) Run(_ context.Context, a *cli.App) error {
	switch v.Subject {
	case "exit-codes":
		return a.PrintHelp(v.Subject, writeExitCodes)
	case "environment":
		return a.PrintHelp(v.Subject, writeEnvironment)
	case "", "stage":
		return a.Help("")
	}
	node, subjects := a.Parser().Model.Node, Subjects(a)
	verb := strings.TrimSpace(v.Subject + " " + v.Part)
	words := strings.Fields(verb)
	for n, word := range words {
		child := completion.Command(node, word)
		unknown := child == nil || child.Hidden
		switch {
		case unknown && len(subjects) == 0: // a verb without subcommands
			return cli.UsageError(fmt.Sprintf("there is no help on '%s'", verb), "`%s help %s` shows all of it", cli.Program, strings.Join(words[:n], " "))
		case unknown:
			return cli.UsageError(fmt.Sprintf("there is no help on '%s'", verb), "%ssubjects: %s", cli.DidYouMean(word, subjects), strings.Join(subjects, ", "))
		}
		node, subjects = child, cli.CommandNames(child)
	}
	return a.Help(verb)
}

// Subjects returns the subjects of help: exit-codes, environment and the verbs.
func Subjects(a *cli.App) []string {
	verbs := slices.DeleteFunc(cli.CommandNames(a.Parser().Model.Node), func(name string) bool { return name == cli.StageCommand })
	return append([]string{"exit-codes", "environment"}, verbs...)
}

func writeExitCodes(to io.Writer) error {
	fmt.Fprintln(to, "Exit codes:")
	for _, row := range cli.Exits {
		fmt.Fprintf(to, "  %3d  %s\n", row.Code, row.When)
	}
	return nil
}

// Environment is the table that `help environment` prints.
var Environment = []struct{ Name, Meaning string }{
	{"PROJECT_ROOT", "the project to work on; default the current directory"},
	{"AGENT_PIPELINES_ROOT", "a directory with scripts/stages and scripts/pipelines to search"},
	{"AGENT_PIPELINES_PLUGIN_DIR", "directories to search for plugins, separated as in PATH"},
	{cli.BundledVariable, "0: do not use the bundled plugins, as --no-bundled"},
	{"AGENT_PIPELINES_LOG_LEVEL", "the log level, as --log-level"},
	{"AGENT_PIPELINES_PLUGIN_LOG_LEVEL", "the log level of plugins, as --plugin-log-level"},
	{"AGENT_PIPELINES_REATTACH", "running plugin processes, for example in a debugger; see docs/debugging-a-plugin.md"},
	{"CLAUDE_PIPELINE_PROVIDER", "the provider; overrides the files, not --provider; also _MODEL and _CONTEXT"},
	{"PIPELINE_CLI_PROVIDER", "as --provider, for wrapper scripts; also _MODEL, _CONTEXT and _INPUTS"},
	{"MOCK_MODE", "true: provider mock replaces all others, without delays"},
	{"AGENT_PIPELINES_SKIP_HOOKS", "hook actions to skip, separated by commas, or all; notify: send no notifications"},
	{"AGENT_PIPELINES_LEGACY", "1: read only state.json of sessions of the Bash engine, not their events"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "the collector of traces and metrics; see docs/observability.md for the other standard variables"},
	{"TRACEPARENT", "the parent span; the trace of a session links to it"},
	{"CI", "true: run sessions in the foreground, unless a flag or your own config.yaml sets the mode; redraw nothing"},
	{"AGENT_PIPELINES_BELL", "0: no bell and no title at a terminal"},
	{"GITHUB_ACTIONS", "true: group the log by node, and write a table of nodes to GITHUB_STEP_SUMMARY"},
	{"NO_COLOR", "any value: no colors"},
}

func writeEnvironment(to io.Writer) error {
	fmt.Fprintln(to, "Environment:")
	for _, row := range Environment {
		fmt.Fprintf(to, "  %-32s %s\n", row.Name, row.Meaning)
	}
	return nil
}
