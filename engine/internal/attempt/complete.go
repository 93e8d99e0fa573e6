package attempt

import (
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Bounds of the lists of agents in events: elements, and bytes of one.
const (
	maxList    = 200
	maxElement = 1 << 10
)

// Completed is the end of an iteration of the stage with the name, made of its last attempt and the reading of its
// result. The outcome is the caller's to add.
func Completed(name string, made event.AttemptCompleteData, r result.Reading) event.IterationCompleteData {
	return event.IterationCompleteData{
		Decision: made.Decision, Reason: brief(r.Reason), Ask: made.Ask, Stage: name, Summary: brief(r.Result.Summary),
		FilesTouched: shortList(r.Result.Work.FilesTouched), ItemsCompleted: shortList(r.Result.Work.ItemsCompleted),
		Signals: event.Signals{
			PlateauSuspected: r.Result.Signals.PlateauSuspected, Risk: brief(r.Result.Signals.Risk), Notes: brief(r.Result.Signals.Notes),
		},
		Result: made.Result, Output: made.Output, Usage: made.Usage, Model: made.Model, AgentVersion: made.AgentVersion,
		DurationMS: made.DurationMS,
	}
}

// brief is a text as events carry it; the files hold it whole.
func brief(s string) string { return event.Truncate(s, event.MaxText) }

// shortList is the beginning of a list: maxList elements, and as much text as one text may have.
func shortList(list []string) []string {
	out := make([]string, 0, min(len(list), maxList))
	room := event.MaxText
	for _, s := range list[:min(len(list), maxList)] {
		s = event.Truncate(s, maxElement)
		b, _ := json.Marshal(s) // strings always marshal
		if room -= len(b) + len(","); room < 0 {
			break
		}
		out = append(out, s)
	}
	return out
}
