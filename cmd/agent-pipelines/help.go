package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// helpVerb is `help [subject]`.
type helpVerb struct {
	Subject string `arg:"" optional:"" help:"A verb, exit-codes or environment."`
	Part    string `arg:"" optional:"" help:"One of the verb's own verbs, as in help plugins lock."`
}

func (v *helpVerb) run(_ context.Context, a *app) error {
	if v.Part != "" {
		return v.part(a)
	}
	switch {
	case v.Subject == "exit-codes":
		return a.explainOn(v.Subject, writeExitCodes)
	case v.Subject == "environment":
		return a.explainOn(v.Subject, writeEnvironment)
	case v.Subject == "" || v.Subject == "stage":
		return a.help("")
	case slices.Contains(commandNames(a.parser.Model.Node), v.Subject):
		return a.help(v.Subject)
	default:
		subjects := append([]string{"exit-codes", "environment"}, slices.DeleteFunc(commandNames(a.parser.Model.Node), func(name string) bool { return name == stageCommand })...)
		return usageError(fmt.Sprintf("there is no help on '%s'", v.Subject), "%ssubjects: %s", didYouMean(v.Subject, subjects), strings.Join(subjects, ", "))
	}
}

// part explains a verb of a verb.
func (v *helpVerb) part(a *app) error {
	for _, child := range a.parser.Model.Children {
		if child.Name == v.Subject && !child.Hidden && isCommand(child, v.Part) {
			return a.help(v.Subject + " " + v.Part)
		}
	}
	near := ""
	for _, child := range a.parser.Model.Children {
		if child.Name == v.Subject {
			near = didYouMean(v.Part, commandNames(child))
		}
	}
	return usageError(fmt.Sprintf("there is no help on '%s %s'", v.Subject, v.Part), "%s`%s help %s` shows what there is", near, program, v.Subject)
}

func writeExitCodes(to io.Writer) error {
	fmt.Fprintln(to, "Exit codes:")
	for _, row := range exits {
		fmt.Fprintf(to, "  %3d  %s\n", row.code, row.when)
	}
	return nil
}

// environment is what `help environment` prints.
var environment = []struct{ name, meaning string }{
	{"PROJECT_ROOT", "the project to work on; default the current directory"},
	{"AGENT_PIPELINES_ROOT", "a folder whose scripts/stages and scripts/pipelines are looked through"},
	{"AGENT_PIPELINES_PLUGIN_DIR", "directories in which plugins are looked for, separated as in PATH"},
	{bundledVariable, "0: use none of the plugins that the command carries, as --no-bundled"},
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
	for _, row := range environment {
		fmt.Fprintf(to, "  %-32s %s\n", row.name, row.meaning)
	}
	return nil
}
