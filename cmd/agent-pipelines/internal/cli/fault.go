package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
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

// The words of error_type that the taxonomy of failures does not have.
const (
	WordUsage    = "bad_arguments"
	WordCompile  = "compile_error"
	WordNotFound = "not_found"
)

// BadUsage is a line that cannot be understood or done.
type BadUsage struct{ message, hint string }

func (e *BadUsage) Error() string { return e.message }

func UsageError(message, hint string, args ...any) error {
	return &BadUsage{message: message, hint: fmt.Sprintf(hint, args...)}
}

// Interrupted is the cause of a context that a signal ended.
type Interrupted struct{ Signal os.Signal }

// Error is the signal's name: the kernel, which has it as a cause, says "stopped" itself.
func (e *Interrupted) Error() string { return SignalName(e.Signal) }

// Fault is an error as it is shown: in words, or as JSON.
type Fault document.Fault

// FaultOf finds out what is to be said about an error.
func FaultOf(err error) Fault {
	f := Fault{ExitCode: int(ExitOf(err)), Message: err.Error(), ErrorType: string(failure.KindOf(err))}
	var usage *BadUsage
	var diagnostics engine.Diagnostics
	var missing *engine.NotFoundError
	var known *failure.Error
	var signal *Interrupted
	switch {
	case errors.As(err, &usage):
		f.ErrorType, f.Hint = WordUsage, usage.hint
	case errors.As(err, &diagnostics):
		f.ErrorType, f.Diagnostics, f.Message = WordCompile, diagnostics, counted(diagnostics)
	case errors.As(err, &missing):
		f.ErrorType, f.Searched = WordNotFound, missing.Searched
		f.Message, f.Hint = notFound(err, missing)
	case errors.As(err, &known):
		f.Code, f.Hint, f.Detail = known.Code(), known.Hint, known.Detail
	case errors.As(err, &signal):
		f.ErrorType, f.Message = string(failure.SignalInterrupt), "stopped by "+SignalName(signal.Signal)
	}
	if hint, system := failure.OfSystem(err); system && !strings.Contains(f.Hint, hint) && !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.ENOSPC) {
		f.Hint = hint // whatever could not be done for want of it
	}
	for _, row := range Sentinels {
		if errors.Is(err, row.is) {
			f.ErrorType = row.Word
		}
	}
	if errors.Is(err, engine.ErrResumable) {
		f.Hint += "; the same line with --resume goes on too"
	}
	return f
}

// counted says how many faults and warnings there are.
func counted(ds engine.Diagnostics) string {
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

// PrintError says what went wrong: on standard error, or with --json on standard output.
func (a *App) PrintError(err error) {
	a.PrintFault(FaultOf(err).WithoutSecrets(redact.New(os.Environ())))
}

// PrintFault prints a fault. As JSON it stands in one line: events may stand before it.
func (a *App) PrintFault(f Fault) {
	if a.JSON {
		a.DocumentLine(document.Error{Error: document.Fault(f)}, f.Next()...)
		return
	}
	f.Print(a.Stderr)
}

// WithoutSecrets is a fault as it may be shown: what it quotes comes from files, lines and plugins.
func (f Fault) WithoutSecrets(r *redact.Redactor) Fault {
	f.Message, f.Hint, f.Detail = r.Text(f.Message), r.Text(f.Hint), r.Text(f.Detail)
	f.Diagnostics = slices.Clone(f.Diagnostics)
	for i := range f.Diagnostics {
		f.Diagnostics[i].Message, f.Diagnostics[i].Hint = r.Text(f.Diagnostics[i].Message), r.Text(f.Diagnostics[i].Hint)
	}
	return f
}

// Print writes a fault for people: the message, what to do, and how to find it in the documents. What
// agents, plugins and files of the project say in it is made printable.
func (f Fault) Print(to io.Writer) {
	WriteDiagnostics(to, f.Diagnostics)
	fmt.Fprintf(to, "Error: %s\n", strings.Join(screen.Lines(f.Message), "\n"))
	for _, text := range []string{f.Hint, f.Detail} {
		indent(to, text)
	}
	if f.Code != "" {
		fmt.Fprintf(to, "  code: %s (%s); more: %s explain %s\n", f.Code, f.ErrorType, Program, f.subject())
	}
}

// subject is what `explain` knows of a fault: its word, or its code where a plugin has a word of its own.
func (f Fault) subject() string {
	if _, known := explain.Find(f.ErrorType); known {
		return f.ErrorType
	}
	return f.Code
}

// WriteDiagnostics writes faults and warnings, one a line.
func WriteDiagnostics(to io.Writer, ds engine.Diagnostics) {
	for _, d := range ds {
		WritePrintable(to, d.String())
	}
}

// WritePrintable writes whole lines that quote files of the project, which may come from anybody.
func WritePrintable(to io.Writer, text string) {
	fmt.Fprintln(to, strings.Join(screen.Lines(text), "\n"))
}

// FailureOf is the error record of a failed run as a fault.
func FailureOf(d *event.FailureData) Fault {
	detail := strings.Join(slices.DeleteFunc([]string{d.Cause, d.Detail}, func(s string) bool { return s == "" || s == d.Message }), "\n")
	return Fault{Code: d.Code, ErrorType: d.ErrorType, Message: d.Message, Hint: d.Remedy, Detail: detail}
}

func indent(to io.Writer, text string) {
	for _, line := range screen.Lines(text) {
		fmt.Fprintf(to, "  %s\n", line)
	}
}

// notFound says that a pipeline or stage is missing in the Bash engine's words, for which scripts look.
func notFound(err error, missing *engine.NotFoundError) (message, hint string) {
	var word *UnknownWord
	switch {
	case errors.As(err, &word):
		return word.Error(), word.Hint()
	case missing.What == "stage":
		return "loop type not found: " + missing.Name + " (there is no stage of this name)", missing.Hint()
	default:
		return missing.What + " not found: " + missing.Name, missing.Hint()
	}
}

// UnknownWord is a first word that names nothing.
type UnknownWord struct {
	*engine.NotFoundError
	Verb string // the nearest one, or start with the pipeline of that name; "" for none
}

func (e *UnknownWord) Error() string {
	return fmt.Sprintf("unknown command '%s': no verb and no stage has this name", e.Name)
}

// Unwrap makes it a [engine.NotFoundError].
func (e *UnknownWord) Unwrap() error { return e.NotFoundError }

// Hint puts the nearest verb before what is known of stages.
func (e *UnknownWord) Hint() string {
	if e.Verb == "" {
		return e.NotFoundError.Hint()
	}
	return fmt.Sprintf("did you mean `%s %s`?\n%s", Program, e.Verb, e.NotFoundError.Hint())
}
