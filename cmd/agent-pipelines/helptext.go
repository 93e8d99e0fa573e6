package main

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
)

// usage prints the help of a verb ("plugins", "plugins lock"), or of the whole command for "".
func (a *app) usage(to io.Writer, verb string) error {
	a.parser.Stdout = to
	for _, child := range a.parser.Model.Children {
		child.DefaultCmd = nil // a verb that has others is explained itself
	}
	traced, err := kong.Trace(a.parser, strings.Fields(verb))
	if err != nil {
		return err
	}
	return traced.PrintUsage(false)
}

// help prints the usage of a verb, or of the whole command for "".
func (a *app) help(verb string) error {
	return a.explainOn(verb, func(to io.Writer) error { return a.usage(to, verb) })
}

// explainOn prints what write says on a subject, with --json as one object.
func (a *app) explainOn(subject string, write func(io.Writer) error) error {
	if !a.JSON {
		return write(a.stdout)
	}
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	a.document(document.Help{Subject: subject, Text: text.String()})
	return nil
}
