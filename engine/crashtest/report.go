package crashtest

import (
	"encoding/json"
	"fmt"
	"time"
)

// Report is what came of [Trials].
type Report struct {
	Seed  uint64 `json:"seed"`
	Kills int    `json:"kills"` // trials in all, which the moments of each go by
	// Undisturbed is how long a run takes without a kill, Lines how many its journal has, and Approvals how often it
	// asked a person, for whom the trials said approve.
	Undisturbed time.Duration `json:"undisturbed_ns"`
	Lines       int           `json:"lines"`
	Approvals   int           `json:"approvals"`
	line        timeline
	// LeftOut are differences between two undisturbed runs, which say nothing about crashes and are not looked at.
	LeftOut []Difference `json:"left_out,omitempty"`
	// NotCopied is what of the project the trials did not have.
	NotCopied []string `json:"not_copied,omitempty"`
	Trials    []Trial  `json:"trials"`
	// Dir is the directory of the undisturbed run, "" where it was removed.
	Dir string `json:"dir,omitempty"`
}

// Trial is one session that was killed.
type Trial struct {
	N       int      `json:"n"` // from 1
	Moments []Moment `json:"moments"`
	// At says of each kill what the journal ended with by then. A kill that came too late is not there.
	At        []string `json:"at"`
	Kills     int      `json:"kills"`
	Resumes   int      `json:"resumes"`
	Approvals int      `json:"approvals"`
	// Differences from the undisturbed run, and processes that were still there after the end.
	Differences []Difference `json:"differences,omitempty"`
	Left        []Process    `json:"left,omitempty"`
	// Dir is the copy of the project, "" where it was removed.
	Dir string `json:"dir,omitempty"`
}

// Process is one that was left.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Ended   bool   `json:"ended"` // by the trial; false if it could not be
}

// Same reports whether the trial came to what the undisturbed run came to, and left nothing.
func (t Trial) Same() bool { return len(t.Differences) == 0 && len(t.Left) == 0 }

// Same reports whether all trials did.
func (r *Report) Same() bool {
	for _, t := range r.Trials {
		if !t.Same() {
			return false
		}
	}
	return true
}

// EndError says that the undisturbed run does not complete, so that nothing can be compared with it.
type EndError struct {
	// Status is what the session is: failed, aborted; "" where none began. Code is the command's exit code.
	Status string
	Code   int
	// Node is where it failed, Message why, and Reply what the mock could be told to answer there (a file of mock
	// replies, JSON); "" where that is not known.
	Node, Message, Reply string
	// Output is the end of what the command printed.
	Output string
}

// Error implements error.
func (e *EndError) Error() string {
	if e.Status == "" {
		return "without any kill the run does not begin with the mock provider"
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

// endError finds out why the run of a trial did not complete.
func (t *trial) endError(last ending, s sessionState) *EndError {
	e := &EndError{Status: s.Status, Code: last.code, Output: last.text}
	journal, err := readJournal(t.dog.journal)
	if err != nil {
		return e
	}
	for _, ev := range journal {
		var d struct {
			Node    string          `json:"node"`
			Message string          `json:"message"`
			Faults  json.RawMessage `json:"faults"`
			Failure *struct {
				Node    string `json:"node"`
				Message string `json:"message"`
			} `json:"failure"`
		}
		if json.Unmarshal(ev.Data, &d) != nil {
			continue
		}
		if d.Failure != nil {
			d.Node, d.Message = d.Failure.Node, d.Failure.Message
		}
		if (ev.Type == "error" || d.Failure != nil) && d.Message != "" {
			e.Node, e.Message = d.Node, d.Message
		}
		if ev.Type == "error" && d.Node != "" {
			e.Reply = replyFor(d.Node, len(d.Faults) > 0)
		}
	}
	return e
}

// replyFor is a file of mock replies to begin with.
func replyFor(node string, artifact bool) string {
	if artifact {
		return fmt.Sprintf(`{"replies": [{"node": %q, "artifact": {"<field>": "<value>"}}]}`, node)
	}
	return fmt.Sprintf(`{"replies": [{"node": %q, "output": "<what the agent says>", "result": {"summary": "<what was done>"}}]}`, node)
}
