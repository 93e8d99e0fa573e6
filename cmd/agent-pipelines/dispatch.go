package main

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/completion"
)

// execute runs the verb of a command line and returns the exit code.
func execute(ctx context.Context, args []string, c cli.Console) cli.Exit {
	out := &cli.Output{Writer: c.Stdout}
	c.Stdout = out
	a := &cli.App{Console: c, Parser: sync.OnceValue(func() *kong.Kong { return newParser(c) }), Bundled: bundled}
	err := dispatch(ctx, a, args)
	if err != nil && !errors.Is(out.Fault(), err) {
		a.PrintError(err)
		if a.JSON && out.Fault() != nil { // standard output is lost: repeat on standard error
			a.JSON = false
			a.PrintError(err)
		}
		return cli.ExitFor(err)
	}
	lost := out.Fault()
	if lost == nil {
		return a.Code
	}
	cli.NewFault(lost).Print(a.Stderr) // as text: standard output is lost
	if a.OfSession || a.Code != cli.ExitDone {
		return a.Code
	}
	return cli.ExitFor(lost)
}

// dispatch parses the command line and runs its verb. If the verb comes first and all is well, its part of the grammar
// suffices.
func dispatch(ctx context.Context, a *cli.App, args []string) error {
	a.GlobalFlags = early(args)
	if len(args) > 0 {
		if parser := newVerbParser(a.Console, args[0]); parser != nil && !arrange(parser.Model, args).help {
			if err := a.CheckAmbiguous(parser.Model.Node, args[0]); err != nil {
				return err
			}
			if parsed, err := parser.Parse(args); err == nil {
				return runVerb(ctx, a, parsed)
			}
		}
	}
	parser := a.Parser()
	arranged := arrange(parser.Model, args)
	if arranged.help {
		return a.Help(deepen(parser.Model.Node, arranged))
	}
	if arranged.verb == "" && len(args) == 0 {
		a.Code = cli.ExitUsage
		return a.Usage(a.Stderr, "")
	}
	if err := a.CheckAmbiguous(parser.Model.Node, arranged.verb); err != nil {
		return err
	}
	parsed, err := parser.Parse(arranged.args)
	if err != nil {
		return explainParseError(a, arranged, err)
	}
	return runVerb(ctx, a, parsed)
}

// runVerb runs the verb of a parsed command line.
func runVerb(ctx context.Context, a *cli.App, parsed *kong.Context) error {
	l, grammar := parsed.Model.Target.Interface().(Commands)
	a.GlobalFlags, a.Selected = l.GlobalFlags, parsed.Selected()
	v, verb := a.Selected.Target.Addr().Interface().(cli.Verb)
	if !grammar || !verb {
		return errors.New("internal error: command has no run method")
	}
	return v.Run(ctx, a)
}

// early returns the flags that are needed before the command line is parsed: the format of errors, and --verb.
func early(args []string) cli.GlobalFlags {
	var s cli.GlobalFlags
	for _, arg := range args {
		if arg == "--" {
			break
		}
		s.JSON = s.JSON || arg == "--json" || arg == "--json=true"
		s.NoColor = s.NoColor || arg == "--no-color"
		s.Verb = s.Verb || arg == "--verb"
	}
	return s
}

// explainParseError rewords an error of the parser and adds a hint.
func explainParseError(a *cli.App, arranged arrangement, err error) error {
	root := a.Parser().Model.Node
	verb := deepen(root, arranged)
	text := strings.NewReplacer(
		"a valid 64 bit int", "a whole number", "a valid 64 bit uint", "a whole number from 0",
		"a valid 32 bit uint", "a whole number from 0 to 4294967295", `,"" but got`, " but got",
	).Replace(err.Error())
	near := ""
	if word, stray := strings.CutPrefix(text, "unexpected argument "); stray && !strings.Contains(text, "did you mean") {
		if child := completion.Command(root, arranged.verb); child != nil {
			near = cli.DidYouMean(word, cli.CommandNames(child))
		}
	}
	switch verb {
	case "":
		return cli.UsageError(text, "see `%s --help`", cli.Program)
	case cli.StageCommand:
		verb = "loop" // `<stage>` is short for `loop <stage>`
	}
	return cli.UsageError(text, "%ssee `%s help %s`", near, cli.Program, verb)
}
