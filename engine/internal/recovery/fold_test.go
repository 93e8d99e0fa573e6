package recovery_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine/internal/fold"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// ofOurs returns the lines of a journal of this engine up to the second stage, and the state after each line.
func ofOurs(t *testing.T) (lines []string, states []state.State) {
	t.Helper()
	var st state.State
	add := func(e event.Event) {
		e.Session, e.Seq, e.RunID, e.Epoch = "s", int64(len(lines)+1), "PL-1", 1
		e.Time = time.Date(2026, 2, 5, 10, 0, len(lines), 0, time.UTC)
		line, err := e.AppendLine(nil)
		if err == nil {
			st, err = progress.Apply(twoStages, st, e)
		}
		testkit.OK(t, err)
		lines, states = append(lines, string(line)), append(states, st)
	}
	add(event.New(event.SessionStart, nil, "", event.SessionStartData{Mode: "pipeline", JournalVersion: event.JournalVersion, SchedulerVersion: progress.Version, SkipDelays: true}))
	add(event.New(event.KernelStart, nil, "", event.KernelStartData{PID: 1}))
	for range 20 {
		if st.At == "1" {
			return lines, states
		}
		for _, c := range schedule.Decide(twoStages, st) {
			if c.Event != nil {
				add(*c.Event)
			}
			switch c.Kind {
			case schedule.Attempt:
				add(event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{Decision: "continue"}))
			case schedule.Strategy:
				action := "continue"
				if c.Location.Iteration == 2 {
					action = "stop"
				}
				add(event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{Action: action}))
			}
		}
	}
	t.Fatalf("it does not come to the second stage: %s", lines[len(lines)-1])
	return nil, nil
}

// A fold finds a journal complete if and only if Restore does; then both states are at the same node.
func TestFoldDetectsDamage(t *testing.T) {
	lines, states := ofOurs(t)
	whole := strings.Join(lines, "")
	complete := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"node_complete"`) })
	document := func(st state.State, seq int64) string {
		st.Seq = seq
		text := testkit.Must(json.MarshalIndent(map[string]any{"session": "s", "scheduler": st}, "", "  "))
		return strings.Replace(string(text), `  "scheduler"`, `  "event_seq": `+string(testkit.Must(json.Marshal(seq)))+",\n"+`  "scheduler"`, 1)
	}
	end := int64(len(lines))
	for _, tt := range []struct {
		name, journal, document string
		want                    bool
	}{
		{"nothing lost", whole, "", true},
		{"a torn end", whole + `{"ts":"20`, "", true},
		{"a line torn by an earlier crash", lines[0] + "{\"ts\n" + strings.Join(lines[1:], ""), "", true},
		{"an older state.json", whole, document(states[2], 3), true},
		{"state.json of the last event", whole, document(states[end-1], end), true},
		{"state.json knows an event that changed nothing", whole, document(states[end-1], end+1), true},
		{"state.json knows more", strings.Join(lines[:end-1], ""), document(states[end-1], end), false},
		{"a gap", lines[0] + strings.Join(lines[2:], ""), "", false},
		{"a line that cannot be read at the end", whole + "{}\n", "", false},
		{"a line of another session", strings.Replace(whole, `"session":"s"`, `"session":"x"`, 1), "", false},
		{"a line of another run", strings.Replace(whole, `"seq":4,"run_id":"PL-1"`, `"seq":4,"run_id":"PL-2"`, 1), "", false},
		{"a transition that cannot be", strings.Join(lines[:complete], "") + strings.Replace(lines[complete], `"to":"1"`, `"to":"2"`, 1), "", false},
		{"an event that does not follow", strings.Replace(whole, `"type":"iteration_start"`, `"type":"decision"`, 1), "", false},
		{"of the Bash engine", ofBash(0, "session_start", "0/0", `{"mode":"pipeline"}`), "", false},
		{"nothing", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{store.EventsFile: tt.journal}
			if tt.document != "" {
				files[store.StateFile] = tt.document
			}
			dir := session(t, files)
			f := fold.New(dir, twoStages)
			log := testkit.Must(journal.Read(dir, func(e event.Event) error {
				f.Apply(e)
				return nil
			}))
			if got := f.Complete(log); got != tt.want {
				t.Errorf("whole: %t, want %t", got, tt.want)
			}
			r, err := testkit.Must(recovery.Read(dir)).Restore(recovery.Params{Plan: twoStages, RunID: "PL-0", SchedulerVersion: progress.Version})
			if r.Complete != tt.want {
				t.Errorf("all files say %t, want %t: %v, %v", r.Complete, tt.want, r.Lost, err)
			}
			if st, err := f.State(); tt.want && (err != nil || st.Seq != log.Last.Seq || st.At != r.State.At) {
				t.Errorf("at %q, event %d of %d, %v", st.At, st.Seq, log.Last.Seq, err)
			}
		})
	}
}

// If lines are in a wrong order, the longest sequence of ascending numbers counts: a misplaced line loses no iteration.
func TestMisplacedLines(t *testing.T) {
	lines, states := ofOurs(t)
	for name, journal := range map[string][]string{
		"a copy of a later line":    slices.Insert(slices.Clone(lines), 4, lines[8]),
		"a copy of an earlier line": append(slices.Clone(lines), lines[4]),
		"the end before the whole":  slices.Concat(lines[2:], lines),
		"a number that is too high": slices.Concat(lines[:1], []string{strings.Replace(lines[1], `"seq":2,`, `"seq":9,`, 1)}, lines[2:]),
	} {
		r := testkit.Must(restored(t, map[string]string{"events.jsonl": strings.Join(journal, "\n")}))
		if want := states[len(states)-1]; r.Doubt != "" || r.State.At != want.At {
			t.Errorf("%s: at %q, want %q; doubt %q, lost %q", name, r.State.At, want.At, r.Doubt, r.Lost)
		} else {
			testkit.Equal(t, want.Nodes["0"], r.State.Nodes["0"])
		}
	}
}

// Lines after a line of an epoch that no kernel began are damage if their epoch is lower. They do not count as lines
// of an outdated kernel.
func TestEpochWithoutKernelStart(t *testing.T) {
	lines, _ := ofOurs(t)
	for i, want := range []string{"", "", "of epoch 1,", "of epoch 1,"} { // the first two lines, session_start and kernel_start, begin epochs
		damaged := slices.Clone(lines)
		damaged[i] = strings.Replace(lines[i], `"epoch":1`, `"epoch":9`, 1)
		r := testkit.Must(restored(t, map[string]string{"events.jsonl": strings.Join(damaged, "\n")}))
		if r.Complete != (want == "") || !strings.Contains(r.Doubt, want) {
			t.Errorf("line %d: complete %t, doubt %q, want %q", i+1, r.Complete, r.Doubt, want)
		}
	}
}

// FuzzPoint checks that the canonical form of each valid point parses as the same point.
func FuzzPoint(f *testing.F) {
	for _, seed := range []string{"", "plan", "2.0", "build:3", ":1", "a:0", "a:-1", "a:b:1", "a:", "a:99999999999999999999", "a:+1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := recovery.ParsePoint(text)
		if err != nil {
			return
		}
		plain := p.Node
		if p.Iteration > 0 {
			plain = fmt.Sprintf("%s:%d", p.Node, p.Iteration)
		}
		if again, err := recovery.ParsePoint(plain); err != nil || again != p || p.Node == "" || p.Iteration < 0 {
			t.Errorf("%q is %+v, written %q and then %+v, %v", text, p, plain, again, err)
		}
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
