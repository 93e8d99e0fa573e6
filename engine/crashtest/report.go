package crashtest

import (
	"slices"
	"time"
)

// Report is the result of [Trials].
type Report struct {
	Seed  uint64 `json:"seed"`
	Kills int    `json:"kills"` // number of trials, which determines their moments
	// Undisturbed is the duration of a run without kills, Lines the number of its journal lines, Approvals
	// the number of questions that were approved.
	Undisturbed time.Duration `json:"undisturbed_ns"`
	Lines       int           `json:"lines"`
	Approvals   int           `json:"approvals"`
	timeline    timeline
	// Unstable lists differences between two undisturbed runs, which are ignored in the trials.
	Unstable []Difference `json:"left_out,omitempty"`
	// NotCopied lists the names in the project that were not copied.
	NotCopied []string `json:"not_copied,omitempty"`
	Trials    []Trial  `json:"trials"`
	// Dir is the directory of the undisturbed run, "" if it was removed.
	Dir string `json:"dir,omitempty"`
}

// Trial is the result of one killed session.
type Trial struct {
	N       int      `json:"n"` // from 1
	Moments []Moment `json:"moments"`
	// Positions describes the last event before each kill. A moment after the end of the process causes no kill.
	Positions []string `json:"at"`
	Kills     int      `json:"kills"`
	Resumes   int      `json:"resumes"`
	Approvals int      `json:"approvals"`
	// Differences lists deviations from the undisturbed run, LeftProcesses the processes that survived the end of the
	// session.
	Differences   []Difference `json:"differences,omitempty"`
	LeftProcesses []Process    `json:"left,omitempty"`
	// Dir is the copy of the project, "" if it was removed.
	Dir string `json:"dir,omitempty"`
}

// Process is a process left running.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Ended   bool   `json:"ended"` // whether the trial could end it
}

// Equal reports whether the trial's outcome equals the undisturbed run's, with no process left.
func (t Trial) Equal() bool { return len(t.Differences) == 0 && len(t.LeftProcesses) == 0 }

// Equal reports whether all trials equal the undisturbed run.
func (r *Report) Equal() bool {
	return !slices.ContainsFunc(r.Trials, func(t Trial) bool { return !t.Equal() })
}

// EndError reports that the undisturbed run does not complete, so that there is no outcome to compare with.
type EndError struct {
	// Status is the session's status: failed, aborted, or "" if it did not start. Code is the command's exit
	// code.
	Status string
	Code   int
	// Node is the failed node, Message the reason, Reply a template of mock replies (JSON) for the node; ""
	// if unknown.
	Node, Message, Reply string
	// Output is the end of the command's output.
	Output string
}

// Error implements error.
func (e *EndError) Error() string {
	if e.Status == "" {
		return "without any kill the run does not start with the mock provider"
	}
	text := "without any kill the run ends as " + e.Status + " with the mock provider"
	if e.Node != "" {
		text += " at " + e.Node
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}
