package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Document prints the result of a verb and the next commands as one indented JSON document. [Output] records write errors.
func (a *App) Document(value any, next ...string) {
	var b bytes.Buffer
	if err := json.Indent(&b, marshalDocument(value, next), "", "  "); err != nil {
		panic(fmt.Sprintf("%T marshals to no JSON: %v", value, err))
	}
	_, _ = a.Stdout.Write(append(b.Bytes(), '\n'))
}

// Print prints the result of a verb: with --json as a document with the next commands, else as the text that write
// writes. [Output] records write errors.
func (a *App) Print(value any, write func(to io.Writer), next ...string) {
	if a.JSON {
		a.Document(value, next...)
		return
	}
	write(a.Stdout)
}

// Present prints the result of a verb: with --json as a document with the next commands, else as text. It returns nil.
func (a *App) Present(value any, text func(to io.Writer), next ...string) error {
	if a.JSON {
		a.Document(value, next...)
	} else {
		text(a.Stdout)
	}
	return nil
}

// Printable returns a text that quotes untrusted files of the project, without control characters.
func Printable(write func(to io.Writer)) func(to io.Writer) {
	return func(to io.Writer) {
		var text strings.Builder
		write(&text)
		WritePrintable(to, strings.TrimRight(text.String(), "\n"))
	}
}

// DocumentLine prints a document on one line, for output that may follow events.
func (a *App) DocumentLine(value any, next ...string) {
	_, _ = a.Stdout.Write(append(marshalDocument(value, next), '\n'))
}

// marshalDocument returns value as a JSON document. It panics if the type of value has no document schema, which is a
// programmer error.
func marshalDocument(value any, next []string) []byte {
	b, err := document.Marshal(value, next...)
	if err != nil {
		panic(err)
	}
	return b
}

// NextCommands returns the commands that continue from a session's status, the most likely first.
func NextCommands(s *engine.Status) []string {
	next := ExecutableCommands(why.NextCommands(s))
	switch s.Status {
	case state.Paused, state.Failed, state.Running:
		return append(next, Program+" why "+s.Session)
	default:
		return next
	}
}

// NextCommandsOfResult returns the commands that continue after a run that ended or paused.
func NextCommandsOfResult(r *engine.Result) []string {
	return NextCommands(&engine.Status{
		Identity: inspect.Identity{Session: r.Session, Status: r.Status}, Pause: inspect.Pause{PauseKind: r.PauseKind, PauseCode: r.PauseCode},
		Failure: r.Failure, Questions: r.Questions, ResumeCommand: r.ResumeCommand,
	})
}

// ExecutableCommands returns the commands that can be executed unchanged; it omits those with a placeholder.
func ExecutableCommands(commands []why.Command) []string {
	lines := []string{}
	for _, c := range commands {
		if !strings.HasSuffix(c.Line, " "+textPlaceholder) {
			lines = append(lines, c.Line)
		}
	}
	return lines
}

// textPlaceholder is the placeholder for the user's text in the commands that answer a question.
const textPlaceholder = "TEXT"

// AnswerCommands returns the commands that show and answer the open questions.
func AnswerCommands(all []engine.Question) []string {
	lines := []string{}
	for _, q := range all {
		if q.Answer != nil {
			continue
		}
		for _, line := range []string{q.Commands.Show, q.Commands.Approve, q.Commands.SkipFailedStep, q.Commands.Skip, q.Commands.Reject} {
			if line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// quotedLine matches a command of this program that a hint quotes.
var quotedLine = regexp.MustCompile("`(" + Program + " [^`]+)`")

// placeholder matches a placeholder, or a character that a shell interprets: hints may quote user input or a plugin's text.
var placeholder = regexp.MustCompile(`[<>…;&|$(){}\\"'*?#~\t\n]|\.\.\.|\b[A-Z][A-Z_]+\b`)

// destructive matches a command that ends a session or discards its work.
var destructive = regexp.MustCompile(`^` + Program + ` abort | --force\b`)

// NextCommands returns the commands that the fault's hint quotes and that a program can execute unchanged, and the command that
// explains the fault's code.
func (f Fault) NextCommands() []string {
	lines := []string{}
	for _, match := range quotedLine.FindAllStringSubmatch(f.Hint, -1) {
		if line := match[1]; !placeholder.MatchString(line) && !destructive.MatchString(line) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if f.Code != "" {
		lines = append(lines, Program+" explain "+f.explainArgument())
	}
	return lines
}
