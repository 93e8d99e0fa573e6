package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/completion"
)

// arrangement is a command line in the order of the grammar.
type arrangement struct {
	args []string // the verb first
	verb string   // "" for a command line without words
	help bool     // --help or -h is set
}

// arrange moves the verb to the front, so that flags may precede it. A first word that is not a verb is a stage. The
// arguments after "--" are never flags and keep their positions.
func arrange(model *kong.Application, args []string) arrangement {
	first, help := scan(model.Node, args)
	a := arrangement{args: args, help: help}
	switch {
	case first < 0 && slices.Contains(beforeDashes(args), "--version"): // as in most commands
		a.verb = "version"
		a.args = append([]string{a.verb}, slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--version" })...)
	case first < 0 && len(args)-len(beforeDashes(args)) < 2: // no word after "--" either
		return a
	case first >= 0 && cli.IsCommand(model.Node, args[first]):
		a.verb = args[first]
		a.args = slices.Concat([]string{a.verb}, args[:first], args[first+1:])
	default:
		a.verb = cli.StageCommand
		a.args = slices.Concat([]string{a.verb}, args)
	}
	return a
}

// scan returns the index of the first word, -1 for none, and whether a flag requests help.
func scan(root *kong.Node, args []string) (first int, help bool) {
	first = -1
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		switch arg := args[i]; {
		case arg == "--help" || arg == "-h":
			help = true
		case strings.HasPrefix(arg, "-") && arg != "-":
			if completion.ValueFlag(root, strings.TrimLeft(arg, "-")) != nil {
				i++ // skip the flag's value
			}
		case first < 0:
			first = i
		}
	}
	return first, help
}

// beforeDashes returns the arguments before "--".
func beforeDashes(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	return args
}

// deepen returns the verb with its subcommand, if any, as in "plugins lock".
func deepen(root *kong.Node, a arrangement) string {
	if child := completion.Command(root, a.verb); child != nil {
		if i, _ := scan(root, a.args[1:]); i >= 0 && cli.IsCommand(child, a.args[i+1]) {
			return a.verb + " " + a.args[i+1]
		}
	}
	return a.verb
}
