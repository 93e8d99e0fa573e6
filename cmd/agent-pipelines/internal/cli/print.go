package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Usage prints the help of a verb ("plugins", "plugins lock"), or of the whole command for "".
func (a *App) Usage(to io.Writer, verb string) error {
	parser := a.Parser()
	parser.Stdout = to
	for _, child := range parser.Model.Children {
		child.DefaultCmd = nil // so that help on a verb does not show its default subcommand
	}
	traced, err := kong.Trace(parser, strings.Fields(verb))
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
	return a.Print(document.Help{Subject: subject, Text: text.String()}, func(to io.Writer) { _, _ = io.WriteString(to, text.String()) })
}

// Document prints the result of a verb and the next commands as one indented JSON document. [Output] records write errors.
func (a *App) Document(value any, next ...string) {
	var b bytes.Buffer
	if err := json.Indent(&b, a.marshal(value, next), "", "  "); err != nil {
		panic(fmt.Sprintf("%T marshals to no JSON: %v", value, err))
	}
	_, _ = a.Stdout.Write(append(b.Bytes(), '\n'))
}

// Print prints the result of a verb: with --json as a document with the next commands, else as text. It returns nil.
func (a *App) Print(value any, text func(to io.Writer), next ...string) error {
	if a.JSON {
		a.Document(value, next...)
	} else {
		text(a.Stdout)
	}
	return nil
}

// Show reads a verb's result from an engine and prints it like [App.Print]. The functions in next return next commands.
func Show[T any](ctx context.Context, a *App, read func(*engine.Engine) (T, error), text func(to io.Writer, result T), next ...func(T) []string) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		result, err := read(e)
		if err != nil {
			return err
		}
		var lines []string
		for _, commands := range next {
			lines = append(lines, commands(result)...)
		}
		return a.Print(result, func(to io.Writer) { text(to, result) }, lines...)
	})
}

// DocumentLine prints a document on one line, for output that may follow events.
func (a *App) DocumentLine(value any, next ...string) {
	_, _ = a.Stdout.Write(append(a.marshal(value, next), '\n'))
}

// marshal returns value as a JSON document. It panics if the type of value has no document schema, which is a
// programmer error.
func (a *App) marshal(value any, next []string) []byte {
	b, err := document.Marshal(value, next...)
	if err != nil {
		panic(err)
	}
	return b
}
