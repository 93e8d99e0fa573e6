package outcome

import (
	"cmp"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FinalStatus is the status in the agent's last event.
type FinalStatus string

// The statuses. None means that the agent's events stopped without a final event.
const (
	None    FinalStatus = ""
	Success FinalStatus = "success"
	Failure FinalStatus = "failure"
)

// Evidence describes an attempt that neither a deadline nor the caller ended.
type Evidence struct {
	// WroteEvents reports whether the agent wrote events in a known form. It is false for a command that printed plain
	// text: another program, an older version, or an error before the first event.
	WroteEvents bool
	// FinalStatus is the agent's own status.
	FinalStatus FinalStatus
	// Fault is the error that the agent reported and did not recover from.
	Fault Fault
	// DeniedTools names the tools that the agent requested and was denied.
	DeniedTools []string
	// Acted reports whether the agent wrote text or used a tool.
	Acted bool
	// Process is the end of the agent's process, nil if there is none.
	Process *Process
	// PlainLines are lines outside the agent's events that may describe an error. Decide inspects them only if the
	// agent wrote no events and its process failed without a signal.
	PlainLines []string
	// Detail is longer evidence for the reader of the failure: the end of stderr.
	Detail string
	// Now is the time of the attempt's end; a time in a message is converted to a wait from Now. If Now
	// is zero, times in messages are ignored.
	Now time.Time
}

// Process is the end of an agent's process.
type Process struct {
	// Failure is the failure that the end implies, nil after a normal end.
	Failure *failure.Error
	// Signaled reports whether a signal ended the process. The last output is then not the reason for the end.
	Signaled bool
}

// Decide returns the outcome of an attempt; the failure is nil only after a success. The first matching rule applies:
//
//	the agent wrote no events       exit code 0: succeeded, or empty without output;
//	                                else the class of its output; else infrastructure
//	it reported an error            the class of the error; permission denied
//	                                if the class is unknown and a tool was denied
//	it ended without a final event  the class of an earlier error; else infrastructure
//	its process ended abnormally    infrastructure
//	it was denied a tool            permission denied
//	it wrote no text, used no tool  empty
//	otherwise                       succeeded
func (a Agent) Decide(e Evidence) (sdk.Outcome, *failure.Error) {
	crash := e.crash()
	switch {
	case !e.WroteEvents:
		return a.plain(e)
	case e.FinalStatus == Failure, e.FinalStatus == Success && e.Fault.isSet():
		return a.reported(e)
	case e.FinalStatus != Success:
		return a.unfinished(e)
	case crash != nil:
		f := *crash
		f.Message = a.Name + " reported success but " + strings.TrimPrefix(f.Message, a.Name+" ")
		return sdk.OutcomeInfrastructure, &f
	case len(e.DeniedTools) > 0:
		return a.denied(e)
	case !e.Acted:
		return a.empty(e)
	}
	return sdk.OutcomeSucceeded, nil
}

// plain decides about a command that wrote no events.
func (a Agent) plain(e Evidence) (sdk.Outcome, *failure.Error) {
	crash := e.crash()
	switch {
	case crash == nil && e.Acted:
		return sdk.OutcomeSucceeded, nil
	case crash == nil:
		return a.empty(e)
	case !e.Process.Signaled:
		for _, line := range e.PlainLines {
			line = strings.TrimSpace(line)
			if r := a.Classify(Fault{Message: line}, e.Now); r.Class != Failed {
				return r.Class.Outcome(), a.failure(r, a.Name+": "+line, e.Detail)
			}
		}
	}
	return sdk.OutcomeInfrastructure, crash
}

// reported decides about an agent whose final status is failure, or that reported success together
// with an error.
func (a Agent) reported(e Evidence) (sdk.Outcome, *failure.Error) {
	r := a.Classify(e.Fault, e.Now)
	if r.Class == Failed && len(e.DeniedTools) > 0 {
		return a.denied(e)
	}
	message := cmp.Or(firstLine(e.Fault.Message), "ended with an error and no message")
	return r.Class.Outcome(), a.failure(r, a.Name+": "+message, e.Detail)
}

// unfinished decides about a stream without a final status. An error that the agent reported
// earlier explains the end, unless a signal ended the process.
func (a Agent) unfinished(e Evidence) (sdk.Outcome, *failure.Error) {
	if e.Process == nil || !e.Process.Signaled {
		if a.Classify(e.Fault, e.Now).Class != Failed {
			return a.reported(e)
		}
	}
	if crash := e.crash(); crash != nil {
		return sdk.OutcomeInfrastructure, crash
	}
	f := failure.New(failure.ProviderCrashed, "%s ended without %s", a.Name, cmp.Or(a.FinalEvent, "its final message")).
		WithHint("read its stream, then resume to repeat the attempt")
	return sdk.OutcomeInfrastructure, f.WithDetail(e.Detail)
}

func (a Agent) denied(e Evidence) (sdk.Outcome, *failure.Error) {
	return Denied.Outcome(), a.failure(Reason{Class: Denied}, a.Name+" was refused permission for "+strings.Join(e.DeniedTools, ", "), e.Detail)
}

func (a Agent) empty(e Evidence) (sdk.Outcome, *failure.Error) {
	return Empty.Outcome(), a.failure(Reason{Class: Empty}, a.Name+" ended normally but wrote nothing and used no tool", e.Detail)
}

func (e Evidence) crash() *failure.Error {
	if e.Process == nil {
		return nil
	}
	return e.Process.Failure
}

// firstLine returns the first line with text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
