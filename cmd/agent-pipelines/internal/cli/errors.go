package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// Package failure does not define these values of error_type.
const (
	WordUsage    = "bad_arguments"
	WordCompile  = "compile_error"
	WordNotFound = "not_found"
)

// BadUsage is the error for a command line that is invalid.
type BadUsage struct{ message, hint string }

// Error implements error.
func (e *BadUsage) Error() string { return e.message }

// UsageError returns a [BadUsage] with a hint, which is formatted with args.
func UsageError(message, hint string, args ...any) error {
	return &BadUsage{message: message, hint: fmt.Sprintf(hint, args...)}
}

// Interrupted is the cause of a context that a signal canceled.
type Interrupted struct{ Signal os.Signal }

// Error returns only the signal's name, because the engine adds "stopped" to the cause.
func (e *Interrupted) Error() string { return SignalName(e.Signal) }

// SignalName returns a signal's name, for example "SIGINT".
func SignalName(s os.Signal) string {
	if number, ok := s.(syscall.Signal); ok {
		return unix.SignalName(number)
	}
	return s.String()
}

// UnknownWord is the error for a first word that is neither a verb nor a stage.
type UnknownWord struct {
	*engine.NotFoundError
	// Verb is the nearest verb, or "start NAME" if a pipeline has the name; "" for none.
	Verb string
}

// Error implements error.
func (e *UnknownWord) Error() string {
	return fmt.Sprintf("unknown command '%s': no verb and no stage has this name", e.Name)
}

// Unwrap returns the [engine.NotFoundError].
func (e *UnknownWord) Unwrap() error { return e.NotFoundError }

// Hint returns the nearest verb, followed by the hint on stages.
func (e *UnknownWord) Hint() string {
	if e.Verb == "" {
		return e.NotFoundError.Hint()
	}
	return fmt.Sprintf("did you mean `%s %s`?\n%s", Program, e.Verb, e.NotFoundError.Hint())
}

// ErrNotSet means that no settings file contains the requested setting.
var ErrNotSet = errors.New("it is not set")

// errOutput means that the command could not write all of its output.
var errOutput = errors.New("the output is not whole")
