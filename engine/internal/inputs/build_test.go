package inputs

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// U095: a list grows with the iterations. A reader that starts in the middle, as after a resume, returns the same
// list as a reader that starts at the beginning. A request for an earlier iteration returns its list again.
func TestListOfAReaderThatBeginsLater(t *testing.T) {
	dir, p := loopDir(t)
	always := NewReader(dir, p)
	write := func(r *Reader, iteration int) string {
		t.Helper()
		at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: iteration}
		c := testkit.Must(r.Build(state.State{Identity: state.Identity{Session: "demo"}}, &p.Nodes[0], at, "progress.md"))
		name := testkit.Must(Write(dir, store.Node("stage-00-a").Iteration(iteration), c))
		return string(testkit.Must(dir.Read(name, 1<<20)))
	}
	texts := map[int]string{}
	for i := 1; i <= 40; i++ {
		texts[i] = write(always, i)
		if i%3 > 0 { // every third agent has no output
			writeOutput(t, dir, i)
		}
	}
	for _, i := range []int{40, 1, 2, 17, 40} {
		if diff := cmp.Diff(texts[i], write(always, i)); diff != "" {
			t.Errorf("iteration %d again:\n%s", i, diff)
		}
		if diff := cmp.Diff(texts[i], write(NewReader(dir, p), i)); diff != "" {
			t.Errorf("iteration %d of a reader that begins there:\n%s", i, diff)
		}
	}
	var c struct {
		Inputs struct {
			Previous []string `json:"from_previous_iterations"`
		} `json:"inputs"`
	}
	testkit.OK(t, json.Unmarshal([]byte(texts[5]), &c))
	var want []string
	for _, i := range []int{1, 2, 4} {
		want = append(want, dir.Abs(output(i)))
	}
	testkit.Equal(t, want, c.Inputs.Previous)
}

func output(iteration int) string {
	return fmt.Sprintf("stage-00-a/iterations/%03d/output.md", iteration)
}

func writeOutput(t testing.TB, dir *store.Dir, iteration int) {
	t.Helper()
	testkit.OK(t, dir.Replace(output(iteration), []byte("said\n")))
}

func loopDir(t testing.TB) (*store.Dir, *plan.Plan) {
	t.Helper()
	_, dir := testkit.Session(t, t.TempDir(), "demo")
	return dir, &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "a", Kind: plan.KindStage}}}
}

// BenchmarkList writes context.json alternately with a list of 1,000 earlier outputs and without a list. list-ns is
// the median of the differences between two consecutive measurements.
func BenchmarkList(b *testing.B) {
	const earlier, pairs = 1000, 51
	dir, p := loopDir(b)
	for i := range earlier {
		writeOutput(b, dir, i+1)
	}
	r, n := NewReader(dir, p), 0
	write := func(after int) time.Duration {
		n++
		it := store.Node("written").Iteration(n) // a new file each time, as in a run
		testkit.OK(b, dir.Mkdir(string(it)))
		start := time.Now()
		c := testkit.Must(r.Build(state.State{Identity: state.Identity{Session: "demo"}}, &p.Nodes[0], event.Location{Node: "0", Visit: 1, Run: 1, Iteration: after + 1}, "progress.md"))
		testkit.Must(Write(dir, it, c))
		return time.Since(start)
	}
	write(earlier) // finds the outputs, which the reader then caches
	for b.Loop() {
		var with, without, list []time.Duration
		for range pairs {
			w, wo := write(earlier), write(0)
			with, without, list = append(with, w), append(without, wo), append(list, w-wo)
		}
		for unit, all := range map[string][]time.Duration{"with-ns": with, "without-ns": without, "list-ns": list} {
			slices.Sort(all)
			b.ReportMetric(float64(all[pairs/2]), unit)
		}
	}
}

// U090: remainingSeconds returns the least time that the guardrails around a location leave, rounded down to seconds.
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
			testkit.Equal(t, tt.want, remainingSeconds(tt.st, tt.at, now))
		})
	}
}
