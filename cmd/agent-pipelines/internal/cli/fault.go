package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Fault is an error in the form that is printed, as text or JSON.
type Fault document.Fault

// NewFault returns the fault for an error: its code, hint, detail and exit code.
func NewFault(err error) Fault {
	f := Fault{ExitCode: int(ExitFor(err)), Message: failure.Render(err.Error(), Program), ErrorType: string(failure.KindOf(err))}
	var usage *BadUsage
	var diagnostics engine.Diagnostics
	var missing *engine.NotFoundError
	var failed *failure.Error
	var signal *Interrupted
	switch {
	case errors.As(err, &usage):
		f.ErrorType, f.Hint = WordUsage, usage.hint
	case errors.As(err, &diagnostics):
		f.ErrorType, f.Diagnostics, f.Message = WordCompile, diagnostics, countDiagnostics(diagnostics)
	case errors.As(err, &missing):
		f.ErrorType, f.Searched = WordNotFound, missing.Searched
		f.Message, f.Hint = notFound(err, missing)
	case errors.As(err, &failed):
		f.Code, f.Hint, f.Detail = failed.Code(), failure.Render(failed.Hint, Program), failed.Detail
	case errors.As(err, &signal):
		f.ErrorType, f.Message = string(failure.SignalInterrupt), "stopped by "+SignalName(signal.Signal)
	}
	if hint, system := failure.SystemHint(err); system && !strings.Contains(f.Hint, hint) && !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.ENOSPC) {
		f.Hint = hint // the system's error explains more than the failed operation
	}
	for _, row := range Sentinels {
		if errors.Is(err, row.is) {
			f.ErrorType = row.Word
		}
	}
	if errors.Is(err, engine.ErrResumable) {
		f.Hint += "; the same line with --resume continues too"
	}
	return f
}

// countDiagnostics returns the number of errors and warnings as text.
func countDiagnostics(ds engine.Diagnostics) string {
	faults := 0
	for _, d := range ds {
		if d.Severity.String() == "error" {
			faults++
		}
	}
	text := screen.Plural(faults, "error")
	if warnings := len(ds) - faults; warnings > 0 {
		text += " and " + screen.Plural(warnings, "warning")
	}
	return text
}

// PrintError prints an error on standard error, or with --json on standard output.
func (a *App) PrintError(err error) {
	a.PrintFault(NewFault(err).WithoutSecrets())
}

// PrintFault prints a fault. As JSON it is one line, because events may precede it.
func (a *App) PrintFault(f Fault) {
	if a.JSON {
		a.DocumentLine(document.Error{Error: document.Fault(f)}, f.NextCommands()...)
		return
	}
	f.Print(a.Stderr)
}

// WithoutSecrets returns the fault with secrets redacted, because it may quote files, command lines and plugins.
func (f Fault) WithoutSecrets() Fault {
	r := redact.New(os.Environ())
	f.Message, f.Hint, f.Detail = r.Text(f.Message), r.Text(f.Hint), r.Text(f.Detail)
	f.Diagnostics = slices.Clone(f.Diagnostics)
	for i := range f.Diagnostics {
		f.Diagnostics[i].Message, f.Diagnostics[i].Hint = r.Text(f.Diagnostics[i].Message), r.Text(f.Diagnostics[i].Hint)
	}
	return f
}

// Print writes the fault as text: the message, the hint, and the command that explains its code. Control characters
// in quoted text are removed.
func (f Fault) Print(to io.Writer) {
	WriteDiagnostics(to, f.Diagnostics)
	fmt.Fprintf(to, "Error: %s\n", strings.Join(screen.Lines(f.Message), "\n"))
	for _, text := range []string{f.Hint, f.Detail} {
		indent(to, text)
	}
	if f.Code != "" {
		fmt.Fprintf(to, "  code: %s (%s); more: %s explain %s\n", f.Code, f.ErrorType, Program, f.explainArgument())
	}
}

// explainArgument returns the argument for `explain`: the fault's error_type, or its code if a plugin made up the type.
func (f Fault) explainArgument() string {
	if _, known := explain.Find(f.ErrorType); known {
		return f.ErrorType
	}
	return f.Code
}

// WriteDiagnostics writes errors and warnings, one per line.
func WriteDiagnostics(to io.Writer, ds engine.Diagnostics) {
	for _, d := range ds {
		WritePrintable(to, d.String())
	}
}

// FailureFault returns the error record of a failed run as a fault.
func FailureFault(d *event.FailureData) Fault {
	detail := strings.Join(slices.DeleteFunc([]string{d.Cause, d.Detail}, func(s string) bool { return s == "" || s == d.Message }), "\n")
	return Fault{Code: d.Code, ErrorType: d.ErrorType, Message: d.Message, Hint: d.Remedy, Detail: detail}
}

func indent(to io.Writer, text string) {
	for _, line := range screen.Lines(text) {
		fmt.Fprintf(to, "  %s\n", line)
	}
}

// notFound returns the message for a missing pipeline or stage in the words of the Bash engine, which scripts match.
func notFound(err error, missing *engine.NotFoundError) (message, hint string) {
	var word *UnknownWord
	switch {
	case errors.As(err, &word):
		return word.Error(), word.Hint()
	case missing.Kind == "stage":
		return "loop type not found: " + missing.Name + " (there is no stage of this name)", missing.Hint()
	default:
		return missing.Kind + " not found: " + missing.Name, missing.Hint()
	}
}

// quotedLine matches a command of this program that a hint quotes.
var quotedLine = regexp.MustCompile("`(" + Program + " [^`]+)`")

// placeholder matches a placeholder, or a character that a shell interprets: hints may quote user input or a plugin's text.
var placeholder = regexp.MustCompile(`[<>…;&|$(){}\\"'*?#~\t\n]|\.\.\.|\b[A-Z][A-Z_]+\b`)

// destructive matches a command that ends a session or discards its work.
var destructive = regexp.MustCompile(`^` + Program + ` abort | --force\b`)

// NextCommands returns the commands in the fault's hint that a program can execute unchanged and that discard nothing.
// It adds the command that explains the fault's code.
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
