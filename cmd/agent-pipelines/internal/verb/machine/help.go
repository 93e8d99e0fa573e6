package machine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// Help is `help [subject]`.
type Help struct {
	Subject string `arg:"" optional:"" help:"A verb, exit-codes or environment."`
	Part    string `arg:"" optional:"" help:"One of the verb's own verbs, as in help plugins lock."`
}

func (v *Help) Run(_ context.Context, a *cli.App) error {
	if v.Part != "" {
		return v.part(a)
	}
	switch {
	case v.Subject == "exit-codes":
		return a.ExplainOn(v.Subject, writeExitCodes)
	case v.Subject == "environment":
		return a.ExplainOn(v.Subject, writeEnvironment)
	case v.Subject == "" || v.Subject == "stage":
		return a.Help("")
	case slices.Contains(cli.CommandNames(a.Parser.Model.Node), v.Subject):
		return a.Help(v.Subject)
	default:
		subjects := append([]string{"exit-codes", "environment"}, slices.DeleteFunc(cli.CommandNames(a.Parser.Model.Node), func(name string) bool { return name == cli.StageCommand })...)
		return cli.UsageError(fmt.Sprintf("there is no help on '%s'", v.Subject), "%ssubjects: %s", cli.DidYouMean(v.Subject, subjects), strings.Join(subjects, ", "))
	}
}

// part explains a verb of a verb.
func (v *Help) part(a *cli.App) error {
	for _, child := range a.Parser.Model.Children {
		if child.Name == v.Subject && !child.Hidden && cli.IsCommand(child, v.Part) {
			return a.Help(v.Subject + " " + v.Part)
		}
	}
	near := ""
	for _, child := range a.Parser.Model.Children {
		if child.Name == v.Subject {
			near = cli.DidYouMean(v.Part, cli.CommandNames(child))
		}
	}
	return cli.UsageError(fmt.Sprintf("there is no help on '%s %s'", v.Subject, v.Part), "%s`%s help %s` shows what there is", near, cli.Program, v.Subject)
}

func writeExitCodes(to io.Writer) error {
	fmt.Fprintln(to, "Exit codes:")
	for _, row := range cli.Exits {
		fmt.Fprintf(to, "  %3d  %s\n", row.Code, row.When)
	}
	return nil
}

// Environment is what `help environment` prints.
var Environment = []struct{ Name, Meaning string }{
	{"PROJECT_ROOT", "the project to work on; default the current directory"},
	{"AGENT_PIPELINES_ROOT", "a folder whose scripts/stages and scripts/pipelines are looked through"},
	{"AGENT_PIPELINES_PLUGIN_DIR", "directories in which plugins are looked for, separated as in PATH"},
	{cli.BundledVariable, "0: use none of the plugins that the command carries, as --no-bundled"},
	{"AGENT_PIPELINES_LOG_LEVEL", "what is logged, as --log-level"},
	{"AGENT_PIPELINES_PLUGIN_LOG_LEVEL", "what is logged of plugins' own lines, as --plugin-log-level"},
	{"AGENT_PIPELINES_REATTACH", "plugin processes that run already, in a debugger say; see docs/debugging-a-plugin.md"},
	{"CLAUDE_PIPELINE_PROVIDER", "the provider, over the files and under --provider; so also _MODEL and _CONTEXT"},
	{"PIPELINE_CLI_PROVIDER", "as --provider, for wrapper scripts; so also _MODEL, _CONTEXT and _INPUTS"},
	{"MOCK_MODE", "true: provider mock answers in place of all others, without delays"},
	{"AGENT_PIPELINES_SKIP_HOOKS", "actions of hooks that are left out, with commas, or all of them; notify: nobody is told"},
	{"AGENT_PIPELINES_LEGACY", "1: of sessions of the Bash engine state.json alone counts, not their events"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "where traces and metrics are sent; this and the other standard variables: docs/observability.md"},
	{"TRACEPARENT", "the span of whoever starts a session; the trace of the session has a link to it"},
	{"CI", "true: sessions run in the foreground, unless a flag or your own config.yaml says where; nothing is redrawn"},
	{"AGENT_PIPELINES_BELL", "0: no bell, title or notification at a terminal"},
	{"GITHUB_ACTIONS", "true: the log has a group for each node, and GITHUB_STEP_SUMMARY gets a table of them"},
	{"NO_COLOR", "anything: no colors"},
}

func writeEnvironment(to io.Writer) error {
	fmt.Fprintln(to, "Environment:")
	for _, row := range Environment {
		fmt.Fprintf(to, "  %-32s %s\n", row.Name, row.Meaning)
	}
	return nil
}
