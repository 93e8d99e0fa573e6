package inputs

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// U090: the least time that the guardrails around a location leave, in whole seconds, rounded down, never below 0.
func TestRemaining(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	timers := func(left map[event.Key]time.Duration) state.State {
		s := state.State{Limits: state.Limits{Timers: map[event.Key]state.Timer{}}}
		for key, after := range left {
			s.Timers[key] = state.Timer{Purpose: state.PurposeGuardrail, Due: now.Add(after)}
		}
		return s
	}
	const run, node, other, outer = "timer:/v0/r0/-/-/i0#1", "timer:1/v1/r1/-/-/i0#1", "timer:10/v1/r1/-/-/i0#1", "timer:1/v1/r1/-/-/i0#2"
	const left, right = "timer:1.0/v1/r1/left/-/i0#1", "timer:1.0/v1/r1/right/-/i0#1"
	plain := event.Location{Node: "1", Visit: 1, Run: 1, Iteration: 3}
	branch := event.Location{Node: "1.0", Visit: 1, Run: 1, Branch: "left", Iteration: 1}
	delay := timers(nil)
	delay.Timers["timer:1/v1/r1/-/-/i3#1"] = state.Timer{Purpose: "delay", Due: now.Add(time.Second)}
	tests := []struct {
		name string
		st   state.State
		at   event.Location
		want int
	}{
		{"no guardrail", state.State{}, plain, -1},
		{"a delay is none", delay, plain, -1},
		{"of the run", timers(map[event.Key]time.Duration{run: 7200 * time.Second}), plain, 7200},
		{"rounded down", timers(map[event.Key]time.Duration{run: 1999 * time.Millisecond}), plain, 1},
		{"less than a second", timers(map[event.Key]time.Duration{run: time.Millisecond}), plain, 0},
		{"used up", timers(map[event.Key]time.Duration{run: -time.Minute}), plain, 0},
		{"the node's is less", timers(map[event.Key]time.Duration{run: time.Minute, node: 30 * time.Second}), plain, 30},
		{"the run's is less", timers(map[event.Key]time.Duration{run: time.Minute, node: time.Hour}), plain, 60},
		{"of another node", timers(map[event.Key]time.Duration{other: time.Minute}), plain, -1},
		{"of the node around", timers(map[event.Key]time.Duration{outer: time.Minute}), event.Location{Node: "1.2.0", Visit: 1, Run: 1}, 60},
		{"of the block", timers(map[event.Key]time.Duration{node: time.Minute}), branch, 60},
		{"of the provider's stage", timers(map[event.Key]time.Duration{node: time.Minute, left: 5 * time.Second}), branch, 5},
		{"of another provider's", timers(map[event.Key]time.Duration{node: time.Minute, right: 5 * time.Second}), branch, 60},
		{"of a block within a pipeline", timers(map[event.Key]time.Duration{outer: 9 * time.Second}), event.Location{Node: "1.0.1", Branch: "left"}, 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := remainingSeconds(tt.st, tt.at, now); got != tt.want {
				t.Errorf("%d seconds, want %d", got, tt.want)
			}
		})
	}
}
