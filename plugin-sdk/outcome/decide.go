package outcome

import (
	"cmp"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// LastWord is what the agent's last event says of the attempt.
type LastWord string

// The last words. None: the agent's events stopped without one.
const (
	None    LastWord = ""
	Success LastWord = "success"
	Failure LastWord = "failure"
)

// Evidence is what is known of an attempt that ended by itself.
type Evidence struct {
	// Spoke: the agent reported in the form in which it is understood. False is for a command that
	// printed plain text instead: a stand-in, an older version, or an error before the first event.
	Spoke bool
	// LastWord is the agent's own judgement.
	LastWord LastWord
	// Fault is the error that the agent told of and did not get over.
	Fault Fault
	// Denied names the tools that the agent asked for and was refused.
	Denied []string
	// Did: the agent said something or used a tool.
	Did bool
	// Process is how the agent's process ended, nil where there is none.
	Process *Process
	// Printed are lines that the agent printed outside its events and that may say what went wrong.
	// They are looked at where it did not speak and its process ended badly.
	Printed []string
	// Detail is longer evidence for the reader of the failure: the end of stderr.
	Detail string
	// Now is when the attempt ended, to read a time of day in a message; zero reads none.
	Now time.Time
}

// Process is the end of an agent's process.
type Process struct {
	// Failure is what the end alone amounts to, nil if it ended well.
	Failure *failure.Error
	// Signaled: a signal ended it. What it said last is not the reason then.
	Signaled bool
}

// Decide says how an attempt ended; the failure is nil only for success. See the package's
// documentation for the order.
func (a Agent) Decide(e Evidence) (sdk.Outcome, *failure.Error) {
	crash := e.crash()
	switch {
	case !e.Spoke:
		return a.plain(e)
	case e.LastWord == Failure, e.LastWord == Success && e.Fault.told():
		return a.reported(e)
	case e.LastWord != Success:
		return a.unfinished(e)
	case crash != nil:
		f := *crash
		f.Message = a.Name + " reported success but " + strings.TrimPrefix(f.Message, a.Name+" ")
		return sdk.OutcomeInfrastructure, &f
	case len(e.Denied) > 0:
		return a.denied(e)
	case !e.Did:
		return a.empty(e)
	}
	return sdk.OutcomeSucceeded, nil
}

// plain judges a command that wrote no events.
func (a Agent) plain(e Evidence) (sdk.Outcome, *failure.Error) {
	crash := e.crash()
	switch {
	case crash == nil && e.Did:
		return sdk.OutcomeSucceeded, nil
	case crash == nil:
		return a.empty(e)
	case !e.Process.Signaled:
		for _, line := range e.Printed {
			line = strings.TrimSpace(line)
			if r := a.Classify(Fault{Message: line}, e.Now); r.Class != Failed {
				return r.Class.Outcome(), a.failure(r, a.Name+": "+line, e.Detail)
			}
		}
	}
	return sdk.OutcomeInfrastructure, crash
}

// reported judges an error that the agent told of as its last word, or against it.
func (a Agent) reported(e Evidence) (sdk.Outcome, *failure.Error) {
	r := a.Classify(e.Fault, e.Now)
	if r.Class == Failed && len(e.Denied) > 0 {
		return a.denied(e)
	}
	message := cmp.Or(firstLine(e.Fault.Message), "ended with an error and no message")
	return r.Class.Outcome(), a.failure(r, a.Name+": "+message, e.Detail)
}

// unfinished judges a stream without a last word. An error that it told of before explains the end,
// unless a signal does.
func (a Agent) unfinished(e Evidence) (sdk.Outcome, *failure.Error) {
	if e.Process == nil || !e.Process.Signaled {
		if a.Classify(e.Fault, e.Now).Class != Failed {
			return a.reported(e)
		}
	}
	if crash := e.crash(); crash != nil {
		return sdk.OutcomeInfrastructure, crash
	}
	f := failure.New(failure.ProviderCrashed, "%s ended without %s", a.Name, cmp.Or(a.Final, "its last word")).
		WithHint("see in its stream how far it came, then resume: the attempt is made again")
	return sdk.OutcomeInfrastructure, f.WithDetail(e.Detail)
}

func (a Agent) denied(e Evidence) (sdk.Outcome, *failure.Error) {
	return Denied.Outcome(), a.failure(Reason{Class: Denied}, a.Name+" was refused permission for "+strings.Join(e.Denied, ", "), e.Detail)
}

func (a Agent) empty(e Evidence) (sdk.Outcome, *failure.Error) {
	return Empty.Outcome(), a.failure(Reason{Class: Empty}, a.Name+" ended well but said and did nothing", e.Detail)
}

func (e Evidence) crash() *failure.Error {
	if e.Process == nil {
		return nil
	}
	return e.Process.Failure
}

// firstLine is the first line with text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
