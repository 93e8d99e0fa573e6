package schedule

import (
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// toolsMoved keeps the gated calls of the attempt under way. Observed calls only inform. A checkpoint has in it what
// became of the calls that are over: those with a result, and those that were not to be made.
func applyToolEvent(l state.Loop, now event.Location, e event.Event) (state.Loop, error) {
	call, err := event.Decode[event.ToolCallData](e)
	if err != nil {
		return l, err
	}
	return expect(l, e, state.PhaseAttempt, now.Key(event.KeyAttempt, l.Attempt), func(l *state.Loop) {
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

// mayHaveHappened reports whether a call that must not be made twice was cut off.
func hasUncertainCall(calls []state.Call) bool { return slices.ContainsFunc(calls, isUncertain) }

// unknown reports whether nobody knows if the call was made, and it must not be made twice.
func isUncertain(c state.Call) bool {
	return c.Result == nil && c.Call.Verdict == "run" && c.Call.Effect != "none" && c.Call.Effect != "idempotent"
}

// unsettled names, for a person, the calls of which nobody knows whether they were made; "" for none.
func describeUncertain(calls []state.Call) string {
	var names []string
	for _, c := range calls {
		if isUncertain(c) {
			names = append(names, strings.TrimSpace(c.Call.Tool+" "+c.Call.Command))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return event.Truncate(": nobody knows whether this was done: "+strings.Join(names, ", "), maxUncertainText)
}

// maxUnsettled is how many bytes of a question's text name calls.
const maxUncertainText = 300
