package kernel

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// lateDelivery returns a late delivery that replaces the event.
func lateDelivery(e event.Event, d event.LateDeliveryData) event.Event {
	l := event.New(event.LateDelivery, e.Cursor, e.Key, d)
	l.Attempt = e.Attempt
	return l
}

// oversizeReplacement returns the event that replaces e, the end of an effect, if e is too long for a line. Without
// a replacement, every resume would end with the same error.
func oversizeReplacement(e event.Event, why error) event.Event {
	d := event.FailureData{
		Code: failure.Internal.Code(), ErrorType: string(failure.Internal), Message: why.Error(), Attempt: e.Attempt,
	}
	var replacement event.Event
	switch e.Type {
	case event.Decision:
		d.Code, d.ErrorType = failure.StrategyFailed.Code(), string(failure.StrategyFailed)
		replacement = event.New(e.Type, e.Cursor, e.Key, event.DecisionData{Action: "error", Failure: &d})
	case event.StrategyAnswer:
		replacement = event.New(e.Type, e.Cursor, e.Key, event.StrategyAnswerData{Error: d.Message})
	case event.HookComplete, event.HookTimeout, event.QuestionAsked:
		return oversizeHookReplacement(e, d)
	case event.LateDelivery:
		replacement = lateDelivery(e, event.LateDeliveryData{Kind: event.LateEnd, Attempt: e.Attempt})
	default:
		replacement = event.New(event.Error, e.Cursor, e.Key, d)
	}
	replacement.Attempt = e.Attempt
	return replacement
}

// oversizeHookReplacement returns a failed hook_complete, which pauses for the user, for a hook's end that is too
// long for a line.
func oversizeHookReplacement(e event.Event, f event.FailureData) event.Event {
	d, _ := event.Decode[event.HookCompleteData](e)
	f.Code, f.ErrorType = failure.HookFailed.Code(), string(failure.HookFailed)
	return event.New(event.HookComplete, e.Cursor, e.Key, event.HookCompleteData{
		Hook: d.Hook, Point: d.Point, Action: d.Action, Answer: event.HookPause, Reason: f.Message, Failure: &f,
	})
}
