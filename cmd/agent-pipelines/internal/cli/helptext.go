package cli

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
)

// Usage prints the help of a verb ("plugins", "plugins lock"), or of the whole command for "".
func (a *App) Usage(to io.Writer, verb string) error {
	a.Parser.Stdout = to
	for _, child := range a.Parser.Model.Children {
		child.DefaultCmd = nil // so that help on a verb does not show its default subcommand
	}
	traced, err := kong.Trace(a.Parser, strings.Fields(verb))
	if err != nil {
		return err
	}
	return traced.PrintUsage(false)
}

// Help prints the usage of a verb, or of the whole command for "".
func (a *App) Help(verb string) error {
	return a.PrintHelp(verb, func(to io.Writer) error { return a.Usage(to, verb) })
}

// PrintHelp prints the text that write produces on a subject, with --json as one object.
func (a *App) PrintHelp(subject string, write func(io.Writer) error) error {
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	return a.Present(document.Help{Subject: subject, Text: text.String()}, func(to io.Writer) { _, _ = io.WriteString(to, text.String()) })
}
