package inspect

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// U233: the score of the latest run is 1 - 0.1 for each consecutive error - 0.05 for each iteration without progress.
func TestHealth(t *testing.T) {
	ours := func(ty event.Type, data any) event.Event {
		e := event.New(ty, nil, "", data)
		e.RunID = "PL-1"
		return e
	}
	failed := ours(event.Error, event.FailureData{ErrorType: "provider_failed"})
	worked := ours(event.IterationComplete, event.IterationCompleteData{Summary: "did it"})
	silent := ours(event.IterationComplete, event.IterationCompleteData{})
	quiet := ours(event.IterationComplete, event.IterationCompleteData{FilesTouched: []string{"a.go"}})
	flat := ours(event.IterationComplete, event.IterationCompleteData{Summary: "polished", Signals: event.Signals{PlateauSuspected: true}})
	bash := event.New(event.IterationComplete, nil, "", event.IterationCompleteData{})
	start := ours(event.SessionStart, event.SessionStartData{})
	retry := ours(event.Retry, event.RetryData{N: 2})
	lost := ours(event.NodeComplete, event.NodeCompleteData{Status: "failed"})
	well := ours(event.NodeComplete, event.NodeCompleteData{Status: "complete"})
	times := func(n int, e event.Event) (list []event.Event) {
		for range n {
			list = append(list, e)
		}
		return list
	}
	for _, tt := range []struct {
		name   string
		events []event.Event
		want   Health
	}{
		{"nothing yet", nil, Health{Score: 1, Label: HealthOK}},
		{"work", times(30, worked), Health{Score: 1, Label: HealthOK}},
		{"work without words", times(30, quiet), Health{Score: 1, Label: HealthOK}},
		{"the Bash engine's events do not show it", times(30, bash), Health{Score: 1, Label: HealthOK}},
		{"no work", times(3, silent), Health{Score: 0.85, Label: HealthOK, WithoutProgress: 3}},
		{"a plateau", times(15, flat), Health{Score: 0.25, Label: HealthWarning, WithoutProgress: 15}},
		{"just not a warning", times(14, flat), Health{Score: 0.3, Label: HealthOK, WithoutProgress: 14}},
		{"never below zero", times(50, flat), Health{Score: 0, Label: HealthWarning, WithoutProgress: 50}},
		{
			"errors in a row, whatever is between them",
			[]event.Event{failed, worked, failed, retry, failed, lost},
			Health{Score: 0.8, Label: HealthOK, Errors: 3, ConsecutiveErrors: 2},
		},
		{"a success ends them", []event.Event{failed, failed, well}, Health{Score: 1, Label: HealthOK, Errors: 2}},
		{"a new run starts at zero", []event.Event{failed, flat, start, failed}, Health{Score: 0.9, Label: HealthOK, Errors: 1, ConsecutiveErrors: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var fold statusFold
			for _, e := range tt.events {
				fold.apply(e)
			}
			testkit.Equal(t, tt.want, fold.health.withScore())
		})
	}
}

// A run is unmeasured while each of its checks was left out. Each check is listed once (U317, AUDIT A14).
func TestUnmeasured(t *testing.T) {
	check := func(id string, skipped bool) event.Event {
		return event.New(event.CheckResult, nil, "", event.CheckResultData{ID: id, Passed: true, Skipped: skipped})
	}
	tests, lint, measured := check("tests", true), check("lint", true), check("build", false)
	start := event.Event{Type: event.SessionStart}
	for name, tt := range map[string]struct {
		events []event.Event
		want   []string
	}{
		"no check":                      {nil, nil},
		"left out in two passes":        {[]event.Event{tests, lint, tests, lint}, []string{"tests", "lint"}},
		"one measured before":           {[]event.Event{measured, lint}, nil},
		"one measured later":            {[]event.Event{lint, measured, tests}, nil},
		"measured in the run before":    {[]event.Event{measured, start, tests}, []string{"tests"}},
		"left out in the run before":    {[]event.Event{lint, start}, nil},
		"a payload that cannot be read": {[]event.Event{event.New(event.CheckResult, nil, "", 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var fold statusFold
			for _, e := range tt.events {
				fold.apply(e)
			}
			testkit.Equal(t, tt.want, fold.Unmeasured)
		})
	}
}
