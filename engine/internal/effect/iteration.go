package effect

import (
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Bounds of lists from agents in events: the number of elements, and the bytes of an element.
const (
	maxList    = 200
	maxElement = 1 << 10
)

// NewIterationComplete returns the data of iteration_complete for the stage called name, from its last attempt and
// its result. The caller adds the outcome.
func NewIterationComplete(name string, last event.AttemptCompleteData, r result.Reading) event.IterationCompleteData {
	signals := r.Result.Signals
	signals.Risk, signals.Notes = TruncateText(signals.Risk), TruncateText(signals.Notes)
	return event.IterationCompleteData{
		Decision: last.Decision, Reason: TruncateText(r.Reason), AgentDecision: last.AgentDecision, Stage: name, Summary: TruncateText(r.Result.Summary),
		FilesTouched: TruncateList(r.Result.Work.FilesTouched), ItemsCompleted: TruncateList(r.Result.Work.ItemsCompleted),
		Signals: signals, Result: last.Result, Output: last.Output, Usage: last.Usage, Model: last.Model, AgentVersion: last.AgentVersion,
		DurationMS: last.DurationMS,
	}
}

// TruncateText shortens a text for an event; the files have the whole text.
func TruncateText(s string) string { return event.Truncate(s, event.MaxText) }

// TruncateList returns the first maxList elements, with at most [event.MaxText] bytes in all.
func TruncateList(list []string) []string {
	out := make([]string, 0, min(len(list), maxList))
	left := event.MaxText
	for _, s := range list[:min(len(list), maxList)] {
		s = event.Truncate(s, maxElement)
		b, _ := json.Marshal(s) // strings always marshal
		if left -= len(b) + len(","); left < 0 {
			break
		}
		out = append(out, s)
	}
	return out
}
