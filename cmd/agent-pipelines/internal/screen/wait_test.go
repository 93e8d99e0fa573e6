package screen

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func TestWait(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	for _, tt := range []struct {
		purpose string
		after   time.Duration
		want    string
	}{
		{"delay", 3 * time.Second, "    x: Waiting 3 seconds..."},
		{"backoff", 2500 * time.Millisecond, "  x: Trying again in 2.5s..."},
		{"backoff", 2*time.Hour + 300*time.Millisecond, "  x: Trying again in 2h0m0s, at 14:00:00..."},
		{"backoff", 13 * time.Hour, "  x: Trying again in 13h0m0s, at Nov 22 01:00:00..."},
		{"backoff", 365 * 24 * time.Hour, "  x: Trying again in 8760h0m0s, at Nov 21 12:00:00..."},
	} {
		compare(t, tt.want, wait("x: ", tt.purpose, noon, noon.Add(tt.after)))
	}
}

// A resume of a session that waits for a usage limit reports the limit and the end of the wait.
func TestRendererResumesAWait(t *testing.T) {
	n, s := Renderer{}, pipelineStory()
	update := s.newUpdate(event.SessionResumed, "", 0, struct{}{})
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	update.Event.Time = now
	timer := func(branch string) event.Key {
		return event.Location{Node: "0", Visit: 1, Run: 1, Branch: branch, Iteration: 3}.Key(event.KeyTimer, 1)
	}
	update.State.Timers = map[event.Key]state.Timer{
		timer("codex"):  {Purpose: "backoff", Due: now.Add(2 * time.Hour)},
		timer(""):       {Purpose: "backoff", Due: now.Add(time.Hour)},
		timer("claude"): {Purpose: "backoff", Due: now.Add(-time.Second)},
	}
	want := []string{
		"Resuming session 'demo' from stage plan, iteration 3",
		"  Trying again in 1h0m0s, at 13:00:00...",
		"  codex: Trying again in 2h0m0s, at 14:00:00...",
	}
	compare(t, want, n.Lines(update))
}
