package document

import (
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Result describes how a run ended or why it waits. It is the last line of the run's output.
type Result struct {
	engine.Result
	// ExitCode is the process's exit code.
	ExitCode int `json:"exit_code"`
}

// BackgroundSession describes a session that was started in the background and its process.
type BackgroundSession struct {
	Session string `json:"session"`
	Host
	// Ended reports that the process has ended already, with ExitCode and Output.
	Ended    bool   `json:"ended,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Output   string `json:"output,omitempty"`
}

// Host is the process that a session runs in.
type Host struct {
	Background  authoring.Background `json:"background"` // detach or tmux
	PID         int                  `json:"pid"`
	Log         string               `json:"log,omitempty"`          // only for detach
	TmuxSession string               `json:"tmux_session,omitempty"` // only for tmux
	TmuxWindow  string               `json:"tmux_window,omitempty"`  // in the tmux session of the starter
}

// Request is a request to the process that runs a session.
type Request struct {
	Session   string `json:"session"`
	Requested string `json:"requested"` // pause or abort
}

// Reply is the result of a user's answer or feedback.
type Reply struct {
	Session   string `json:"session"`
	Requested string `json:"requested"` // answer or feedback
	Question  string `json:"question,omitempty"`
	Answer    string `json:"answer,omitempty"`
	// Owned reports that a process owns the session and continues it. Otherwise ResumeCommand continues it, if work is left.
	Owned         bool         `json:"held"`
	Status        state.Status `json:"status,omitempty"`
	ResumeCommand string       `json:"resume_command,omitempty"`
}

// Error is the document of a verb that failed.
type Error struct {
	Error Fault `json:"error"`
}

// Fault is an error as it is shown.
type Fault struct {
	// Code is the stable code, "" for none; ErrorType is the name of the kind of error.
	Code      string `json:"code,omitempty"`
	ErrorType string `json:"error_type"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"` // what to do
	Detail    string `json:"detail,omitempty"`
	// Diagnostics are faults of files, each with its place. Searched are the searched places.
	Diagnostics engine.Diagnostics `json:"diagnostics,omitempty"`
	Searched    []string           `json:"searched,omitempty"`
	ExitCode    int                `json:"exit_code"`
}
