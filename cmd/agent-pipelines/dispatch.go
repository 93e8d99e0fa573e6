package main

import (
	"context"
	"errors"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/completion"
)

// execute runs the verb of a command line and returns the exit code.
func execute(ctx context.Context, args []string, c cli.Console) cli.Exit {
	var l Commands
	out := &cli.Output{Writer: c.Stdout}
	c.Stdout = out
	a := &cli.App{Console: c, Parser: newParser(&l, c), Bundled: bundled}
	err := dispatch(ctx, a, &l, args)
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

// dispatch parses the command line and runs its verb.
func dispatch(ctx context.Context, a *cli.App, l *Commands, args []string) error {
	arranged := arrange(a.Parser.Model, args)
	a.GlobalFlags = early(args)
	if arranged.help {
		return a.Help(deepen(a.Parser.Model.Node, arranged))
	}
	if arranged.verb == "" && len(args) == 0 {
		a.Code = cli.ExitUsage
		return a.Usage(a.Stderr, "")
	}
	if err := a.CheckAmbiguous(arranged.verb); err != nil {
		return err
	}
	parsed, err := a.Parser.Parse(arranged.args)
	if err != nil {
		return explainParseError(a, arranged, err)
	}
	a.GlobalFlags, a.Selected = l.GlobalFlags, parsed.Selected()
	v, ok := a.Selected.Target.Addr().Interface().(cli.Verb)
	if !ok {
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
	verb := arranged.verb
	text := strings.NewReplacer(
		"a valid 64 bit int", "a whole number", "a valid 64 bit uint", "a whole number from 0",
		"a valid 32 bit uint", "a whole number from 0 to 4294967295", `,"" but got`, " but got",
	).Replace(err.Error())
	near := ""
	if word, stray := strings.CutPrefix(text, "unexpected argument "); stray && !strings.Contains(text, "did you mean") {
		if child := completion.Command(a.Parser.Model.Node, verb); child != nil {
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
