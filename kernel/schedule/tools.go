package schedule

import (
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// applyToolEvent stores the gated calls of the attempt in flight; observed calls only inform. A checkpoint contains
// the calls that are over, those with a result and those that were refused, so they are dropped.
func applyToolEvent(l state.Loop, current event.Location, e event.Event) (state.Loop, error) {
	call, err := event.Decode[event.ToolCallData](e)
	if err != nil {
		return l, err
	}
	return expect(l, e, state.PhaseAttempt, current.Key(event.KeyAttempt, l.Attempt), func(l *state.Loop) {
		switch {
		case call.Observed:
		case e.Type == event.ToolCall:
			l.Calls = append(slices.DeleteFunc(l.Calls, func(c state.Call) bool { return c.Call.CallID == call.CallID }), state.Call{Call: call})
		case e.Type == event.ToolResult:
			finishCall(l, e)
		case e.Type == event.Checkpoint:
			d, _ := event.Decode[event.CheckpointData](e) // it decoded as a call above
			l.Checkpoint = &d
			l.Calls = slices.DeleteFunc(l.Calls, func(c state.Call) bool { return c.Result != nil || c.Call.Verdict != "run" })
		}
	})
}

func finishCall(l *state.Loop, e event.Event) {
	d, err := event.Decode[event.ToolResultData](e)
	if err != nil {
		return
	}
	for i := range l.Calls {
		if l.Calls[i].Call.CallID == d.CallID {
			l.Calls[i].Result = &d
		}
	}
}

// describeUncertain names the calls of which it is unknown whether they ran, for a question to the user; "" for none.
func describeUncertain(calls []state.Call) string {
	var names []string
	for _, c := range calls {
		if c.IsUncertain() {
			names = append(names, strings.TrimSpace(c.Call.Tool+" "+c.Call.Command))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return event.Truncate(": it is unknown whether these calls ran: "+strings.Join(names, ", "), maxUncertainText)
}

// maxUncertainText is the number of bytes of a question's text that name calls.
const maxUncertainText = 300
