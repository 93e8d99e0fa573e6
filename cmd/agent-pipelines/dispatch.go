package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// run does what the line says and returns the code to exit with.
func run(ctx context.Context, args []string, c console) exit {
	var l line
	out := &output{Writer: c.stdout}
	c.stdout = out
	a := &app{console: c, parser: newParser(&l, c), bundled: bundled}
	err := a.dispatch(ctx, &l, args)
	if err != nil && !errors.Is(out.fault(), err) {
		a.printError(err)
		if a.JSON && out.fault() != nil { // so that it was said to nobody
			a.JSON = false
			a.printError(err)
		}
		return exitOf(err)
	}
	lost := out.fault()
	if lost == nil {
		return a.code
	}
	faultOf(lost).print(a.stderr) // there is room for JSON no more
	if a.ofSession || a.code != exitDone {
		return a.code
	}
	return exitOf(lost)
}

func (a *app) dispatch(ctx context.Context, l *line, args []string) error {
	arranged := arrange(a.parser.Model, args)
	a.settings = early(args)
	if arranged.help {
		return a.help(deepen(a.parser.Model.Node, arranged))
	}
	if arranged.verb == "" && len(args) == 0 {
		a.code = exitUsage
		return a.usage(a.stderr, "")
	}
	if err := a.ambiguous(arranged.verb); err != nil {
		return err
	}
	parsed, err := a.parser.Parse(arranged.args)
	if err != nil {
		return a.explain(arranged, err)
	}
	a.settings = l.settings
	v, ok := parsed.Selected().Target.Addr().Interface().(verb)
	if !ok {
		return errors.New("the grammar names a verb that does nothing")
	}
	return v.run(ctx, a)
}

// early reads what must be known before the line is understood: how errors are to be printed, and whether its first word is
// surely a verb.
func early(args []string) settings {
	var s settings
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

// explain makes the parser's error one for people.
func (a *app) explain(arranged arrangement, err error) error {
	verb := arranged.verb
	if number := negative(arranged.args); number != "" && strings.HasPrefix(err.Error(), "unknown flag "+number[:2]) {
		err = fmt.Errorf("%s is no flag, and no number here can be negative", number)
	}
	text := strings.ReplaceAll(err.Error(), "a valid 64 bit int", "a whole number")
	near := ""
	if word, stray := strings.CutPrefix(text, "unexpected argument "); stray && !strings.Contains(text, "did you mean") {
		for _, child := range a.parser.Model.Children {
			if child.Name == verb {
				near = didYouMean(word, commandNames(child))
			}
		}
	}
	switch verb {
	case "":
		return usageError(text, "see `%s --help`", program)
	case stageCommand:
		verb = "loop" // which it is short for
	}
	return usageError(text, "%ssee `%s help %s`", near, program, verb)
}

// negative is the first word that looks like a negative number, "" for none.
func negative(args []string) string {
	for _, arg := range args {
		if n, err := strconv.Atoi(arg); err == nil && n < 0 {
			return arg
		}
	}
	return ""
}
