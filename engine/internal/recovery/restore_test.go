package recovery_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/fold"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	events "github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// twoStages is a plan with a stage of two iterations, a stage of three, and a block.
var twoStages = &plan.Plan{Version: plan.Version, Pipeline: plan.Pipeline{Name: "two"}, Nodes: []plan.Node{
	{Path: "0", ID: "a", Kind: plan.KindStage, Prompt: "a", Provider: &plan.Provider{Type: "x"}, Termination: plan.Termination{"max": 2}},
	{Path: "1", ID: "b", Kind: plan.KindStage, Prompt: "b", Provider: &plan.Provider{Type: "x"}, Termination: plan.Termination{"max": 3}},
	{
		Path: "2", ID: "c", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "p"}, {Name: "q"}},
		Stages: []plan.Node{{Path: "2.0", ID: "d", Kind: plan.KindStage, Prompt: "d", Termination: plan.Termination{"max": 2}}},
	},
}}

// session returns a session's directory with files.
func session(t testing.TB, files map[string]string) *store.Dir {
	t.Helper()
	_, dir := testkit.Session(t, t.TempDir(), "s")
	for name, text := range files {
		testkit.OK(t, dir.Replace(name, []byte(text)))
	}
	return dir
}

// ofBash returns a journal line of the Bash engine; place is "node/iteration" or "node/iteration/provider".
func ofBash(second int, kind, place, data string) string {
	parts := strings.Split(place, "/")
	provider := ""
	if len(parts) > 2 {
		provider = `,"provider":"` + parts[2] + `"`
	}
	at := time.Date(2026, 2, 5, 10, 0, second, 0, time.UTC).Format(time.RFC3339)
	return `{"ts":"` + at + `","type":"` + kind + `","session":"s","cursor":{"node_path":"` + parts[0] + `","node_run":1,"iteration":` + parts[1] + provider + `},"data":` + data + `}` + "\n"
}

func restored(t *testing.T, files map[string]string) (recovery.Result, error) {
	t.Helper()
	f := testkit.Must(recovery.Read(session(t, files)))
	return f.Restore(recovery.Params{Plan: twoStages, RunID: "PL-1", SchedulerVersion: progress.Version})
}

// U048, U049, D19: events and state.json show from which point a session of the Bash engine continues.
func TestBashResumePoints(t *testing.T) {
	begin := ofBash(0, "session_start", "0/0", `{"mode":"pipeline","pipeline":"two"}`)
	start := func(s int, place string) string { return ofBash(s, "iteration_start", place, "{}") }
	done := func(s int, place string) string {
		return ofBash(s, "iteration_complete", place, `{"decision":"continue","reason":""}`)
	}
	node := func(s int, path string) string { return ofBash(s, "node_start", path+"/0", "{}") }
	end := func(s int, place string) string { return ofBash(s, "node_complete", place, `{"status":"complete"}`) }
	first := begin + node(0, "0") + start(0, "0/1") + done(1, "0/1") + start(2, "0/2") + done(3, "0/2")
	state := func(more string) string {
		return `{"session":"s","type":"pipeline","started_at":"2026-02-05T10:00:00Z",` + more + `}`
	}
	history := func(entries ...string) string { return `"history":[` + strings.Join(entries, ",") + `]` }
	entry := func(stage, iteration, at string) string {
		return `{"stage":"` + stage + `","iteration":` + iteration + `,"timestamp":"2026-02-05T10:00:` + at + `Z"}`
	}
	for _, tt := range []struct {
		name          string
		events, state string
		want          string // path, phase, completed
		doubt         bool
	}{
		{"before the first", begin + node(0, "0"), "", "0 ready 0", false},
		{"in the first", begin + node(0, "0") + start(0, "0/1"), "", "0 ready 0", false},
		{"between two", begin + node(0, "0") + start(0, "0/1") + done(1, "0/1"), "", "0 decide 1", false},
		{"in the second", begin + node(0, "0") + start(0, "0/1") + done(1, "0/1") + start(2, "0/2"), "", "0 ready 1", false},
		{"after the last", first, "", "0 decide 2", false},
		{"between two nodes", first + end(3, "0/2"), "", "1", false},
		{"in the next node", first + end(3, "0/2") + node(3, "1") + start(3, "1/1"), "", "1 ready 0", false},
		{
			"in the next node, with counters of the one before", first + end(3, "0/2") + node(3, "1") + start(3, "1/1"),
			state(`"status":"running","current_stage":1,"iteration":1,"iteration_completed":2,"event_offset":9,"cursor":{}`), "1 ready 0", false,
		},
		{
			"the event of the end is lost, the history has it", begin + node(0, "0") + start(0, "0/1"),
			state(`"status":"running","current_stage":0,"iteration":1,"iteration_completed":1,` + history(entry("a", "1", "01"))), "0 decide 1", false,
		},
		{
			"the events of a stage are lost, state.json has it", first + end(3, "0/2"),
			state(`"status":"running","current_stage":1,"stages":[{"index":1,"name":"b","status":"running","timestamp":"2026-02-05T10:00:04Z"}],` + history(entry("a", "1", "01"), entry("a", "2", "03"), entry("b", "1", "05"))),
			"1 decide 1", false,
		},
		{
			"run again in the same directory", first + end(3, "0/2") + ofBash(4, "session_complete", "0/2", `{"reason":"all_loops_complete"}`) + node(9, "0") + start(9, "0/1"),
			state(`"status":"running",` + history(entry("a", "1", "01"), entry("a", "2", "03"))), "0 ready 0", false,
		},
		{"no events", "", state(`"status":"running","current_stage":1,"iteration":2,"iteration_completed":1,"iteration_started":"2026-02-05T10:00:09Z",` +
			`"stages":[{"index":0,"name":"a","status":"complete","timestamp":"2026-02-05T10:00:03Z"},{"index":1,"name":"b","status":"running","timestamp":"2026-02-05T10:00:04Z"}],` +
			history(entry("a", "1", "01"), entry("a", "2", "03"), entry("b", "1", "05"))), "1 ready 1", false},
		{
			"failed", begin + node(0, "0") + start(0, "0/1"),
			state(`"status":"failed","failed_at":"2026-02-05T10:00:09Z","current_stage":0,"error":{"type":"zero_iterations","message":"none"}`), "0 settled 0", false,
		},
		{"garbage in the middle", begin + "}{\n" + node(0, "0") + start(0, "0/1") + done(1, "0/1"), "", "0 decide 1", false},
		{"garbage at the end", first + "}{\n", "", "0 decide 2", true},
		{"garbage at the end, with state.json", first + "}{\n", state(`"status":"running"`), "0 decide 2", false},
		{"a torn line", first + `{"ts":"20`, "", "0 decide 2", false},
		{"wrong types", begin + node(0, "0") + start(0, "0/1") + ofBash(1, "iteration_complete", "0/1", `[5]`), state(`"status":7,"history":"x","stages":{}`), "0 decide 1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"pipeline.yaml": "name: two"}
			if tt.events != "" {
				files["events.jsonl"] = tt.events
			}
			if tt.state != "" {
				files["state.json"] = tt.state
			}
			r := testkit.Must(restored(t, files))
			got := r.State.At
			if n, entered := r.State.Nodes[got]; entered {
				got += " " + string(n.Loop.Phase) + " " + string(rune('0'+n.Loop.Completed))
			}
			if got != tt.want || (r.Doubt != "") != tt.doubt || r.State.RunID != "PL-1" {
				t.Errorf("continues at %q, want %q; doubt %q; lost %v", got, tt.want, r.Doubt, r.Lost)
			}
		})
	}
}

// D17: in a block, providers that are done stay done.
func TestBashBlock(t *testing.T) {
	r := testkit.Must(restored(t, map[string]string{"pipeline.yaml": "x", "events.jsonl": ofBash(0, "session_start", "0/0", `{"mode":"pipeline"}`) +
		ofBash(0, "node_start", "2/0", `{"kind":"parallel"}`) + ofBash(0, "parallel_provider_start", "2/0/p", "{}") + ofBash(0, "parallel_provider_start", "2/0/q", "{}") +
		ofBash(0, "iteration_start", "2/1/p", `{"stage_index":0}`) + ofBash(0, "iteration_complete", "2/1/p", "{}") + ofBash(0, "iteration_start", "2/2/p", `{"stage_index":0}`) +
		ofBash(0, "iteration_complete", "2/2/p", "{}") + ofBash(0, "parallel_provider_complete", "2/0/p", `{"status":"complete"}`) +
		ofBash(0, "iteration_start", "2/1/q", `{"stage_index":0}`)}))
	got := map[string]string{}
	for id, b := range r.State.Nodes["2"].Branches {
		got[id] = string(b.Status) + " " + string(b.Loop.Phase)
	}
	if diff := cmp.Diff(map[string]string{"p": "complete settled", "q": "running ready"}, got); diff != "" || r.State.At != "2" {
		t.Error(r.State.At, diff)
	}
	if done := r.State.Nodes["2"].Branches["p"].Done; len(done) != 1 || done[0].Iterations != 2 {
		t.Errorf("done %+v", done)
	}
}

// A run continues at the user's point. An invalid point is an error.
func TestResumePoint(t *testing.T) {
	f := testkit.Must(recovery.Read(session(t, nil)))
	for _, tt := range []struct{ at, want string }{
		{"a", "0"}, {"b:2", "1"}, {"1:2", "1"}, {"c", "2"}, {"c:2", "it has no iterations"}, {"z", "no node"}, {"b:x", "invalid iteration"}, {":1", "names no node"},
	} {
		t.Run(tt.at, func(t *testing.T) {
			p, err := recovery.ParsePoint(tt.at)
			var st state.State
			if err == nil {
				st, err = f.Place(recovery.Params{Plan: twoStages, RunID: "PL-1"}, state.State{}, p, time.Now())
			}
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Error(err)
				}
				return
			}
			if st.At != tt.want || st.Nodes[st.At].Loop.Completed != max(0, p.Iteration-1) {
				t.Errorf("%+v", st)
			}
			st.Epoch = 1 // as after the start of a kernel
			if cmds := schedule.Decide(twoStages, st); len(cmds) == 0 {
				t.Error("nothing would be done")
			}
		})
	}
}

// Results of a nested pipeline before the point stay: later nodes have them as inputs. Results after the point, and in
// a restarted nested pipeline, are dropped.
func TestResumePointKeepsNestedNodes(t *testing.T) {
	stage := plan.Node{Path: "0", ID: "s", Kind: plan.KindStage, Prompt: "s", Termination: plan.Termination{"max": 1}}
	nest := func(path, id string) plan.Node {
		return plan.Node{Path: path, ID: id, Kind: plan.KindPipeline, Plan: &plan.Plan{Nodes: []plan.Node{stage}}}
	}
	p := &plan.Plan{Version: plan.Version, Nodes: []plan.Node{nest("0", "a"), nest("1", "b"), nest("2", "c")}}
	st := state.State{Identity: state.Identity{RunID: "PL-1"}, Position: state.Position{Nodes: map[string]state.Node{}}}
	for _, path := range []string{"0", "0.0", "1", "1.0", "2", "2.0"} {
		st.Nodes[path] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeComplete}}
	}
	f := testkit.Must(recovery.Read(session(t, nil)))
	placed := testkit.Must(f.Place(recovery.Params{Plan: p, RunID: "PL-1"}, st, recovery.Point{Node: "b"}, time.Now()))
	testkit.Equal(t, []string{"0", "0.0", "1"}, slices.Sorted(maps.Keys(placed.Nodes)))
}

// A restarted nested pipeline continues counting its runs, as a later visit does: the directories of earlier runs stay
// unchanged.
func TestResumePointCountsNestedRuns(t *testing.T) {
	inner := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "s", Kind: plan.KindStage, Prompt: "s", Termination: plan.Termination{"max": 1}}}}
	p := &plan.Plan{Version: plan.Version, Nodes: []plan.Node{{Path: "0", ID: "a", Kind: plan.KindPipeline, Runs: 2, Plan: inner}}}
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int
	}{
		{"never entered", nil, 1},
		{"two runs made", map[string]string{
			"pipeline-00-a/run-001/stage-00-s/output.md": "x", "pipeline-00-a/run-002/stage-00-s/output.md": "x",
		}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := testkit.Must(recovery.Read(session(t, tt.files)))
			st := testkit.Must(f.Place(recovery.Params{Plan: p, RunID: "PL-1"}, state.State{}, recovery.Point{Node: "a"}, time.Now()))
			st.Epoch = 1 // as after the start of a kernel
			due := schedule.Decide(p, st)
			if len(due) != 1 || due[0].Event == nil || due[0].Event.Type != event.NodeRunStart {
				t.Fatalf("due %+v", due)
			}
			if st, err := progress.Apply(p, st, *due[0].Event); err != nil || st.Nodes["0"].Run != tt.want {
				t.Errorf("run %d, want %d: %v", st.Nodes["0"].Run, tt.want, err)
			}
		})
	}
}

// Under check_before a stage without a completed iteration asks its strategy first.
func TestCheckBeforeIsStillDue(t *testing.T) {
	checked := &plan.Plan{Version: plan.Version, Nodes: []plan.Node{{
		Path: "0", ID: "a", Kind: plan.KindStage, Prompt: "a", Provider: &plan.Provider{Type: "x"},
		Termination: plan.Termination{"max": 3, "check_before": true},
	}}}
	begun := ofBash(0, "session_start", "0/0", `{"mode":"loop","stage":"a"}`) + ofBash(1, "iteration_start", "0/1", "{}")
	for _, tt := range []struct {
		name, events string
		at           string
		want         state.Check
	}{
		{"before the attempt", begun, "", state.CheckDue},
		{"a failed check", begun + ofBash(2, "node_complete", "0/0", `{"status":"failed"}`), "", state.CheckDue},
		{"after an iteration", begun + ofBash(2, "iteration_complete", "0/1", "{}"), "", ""},
		{"stopped by the check", begun + ofBash(2, "node_complete", "0/0", `{"status":"complete"}`), "", ""},
		{"sent to the first iteration", begun + ofBash(2, "iteration_complete", "0/1", "{}"), "a:1", state.CheckDue},
		{"sent to a later one", begun, "a:2", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := testkit.Must(recovery.Read(session(t, map[string]string{"events.jsonl": tt.events})))
			b := recovery.Params{Plan: checked, RunID: "PL-1", SchedulerVersion: progress.Version}
			r, err := f.Restore(b)
			if err == nil && tt.at != "" {
				var p recovery.Point
				if p, err = recovery.ParsePoint(tt.at); err == nil {
					r.State, err = f.Place(b, r.State, p, time.Now())
				}
			}
			testkit.OK(t, err)
			if l := r.State.Nodes["0"].Loop; l.Check != tt.want {
				t.Errorf("check %q, want %q: %+v", l.Check, tt.want, l)
			}
		})
	}
}

// Complete refuses a plan that lacks data for a run, also in the stages of a block and in the plan of a nested
// pipeline.
func TestComplete(t *testing.T) {
	if err := recovery.Complete(twoStages); err != nil {
		t.Error(err)
	}
	for want, p := range map[string]string{
		"version": `{}`, "no nodes": `{"version":1}`, "no path or id": `{"version":1,"nodes":[{}]}`,
		"no known kind":           `{"version":1,"nodes":[{"path":"0","id":"a"}]}`,
		"no prompt":               `{"version":1,"nodes":[{"path":"0","id":"a","kind":"stage"}]}`,
		"no provider":             `{"version":1,"nodes":[{"path":"0","id":"a","kind":"stage","prompt":"x"}]}`,
		"no providers or stages":  `{"version":1,"nodes":[{"path":"0","id":"a","kind":"parallel"}]}`,
		"no plan":                 `{"version":1,"nodes":[{"path":"0","id":"a","kind":"pipeline"}]}`,
		`"d" (0.0) has no prompt`: `{"version":1,"nodes":[{"path":"0","id":"c","kind":"parallel","providers":[{"name":"p"}],"stages":[{"path":"0.0","id":"d","kind":"stage"}]}]}`,
		"it has no nodes":         `{"version":1,"nodes":[{"path":"0","id":"n","kind":"pipeline","plan":{"version":1}}]}`,
	} {
		var parsed plan.Plan
		testkit.OK(t, json.Unmarshal([]byte(p), &parsed))
		testkit.Fails(t, recovery.Complete(&parsed), want)
	}
}

// Whatever a session's directory holds, the restored state can be folded further: the scheduler knows what to do
// next, or the session has ended.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(ofBash(0, "session_start", "0/0", `{"mode":"loop","stage":"a"}`)+ofBash(1, "iteration_complete", "0/1", "{}")), []byte(`{"session":"s","status":"complete"}`))
	f.Add([]byte(ofBash(0, "iteration_start", "2/1/p", `{"stage_index":7}`)+ofBash(0, "error", "2/1/p", `{"message":"x"}`)), []byte(`{"session":"s","type":"pipeline","current_stage":2,"stages":[{"index":2,"status":"failed"}]}`))
	f.Add([]byte(`{"ts":"2026-02-05T10:00:00Z","type":"session_start","session":"s","cursor":null,"data":{},"seq":1,"run_id":"PL-1","epoch":1}`), []byte(`{"session":"s","event_seq":3,"scheduler":{"session":"s","run_id":"PL-1","event_seq":3,"status":"running","at":"1","nodes":{"0":{"visit":1,"loop":{"phase":"settled"}}}}}`))
	f.Fuzz(func(t *testing.T, journal, document []byte) {
		dir := session(t, map[string]string{"events.jsonl": string(journal), "state.json": string(document)})
		found, err := recovery.Read(dir)
		if err != nil {
			return
		}
		found.BashLoop()
		b := recovery.Params{Plan: twoStages, RunID: "PL-0", SchedulerVersion: progress.Version}
		r, err := found.Restore(b)
		folded := fold.New(dir, twoStages)
		log, unread := events.Read(dir, func(e event.Event) error {
			folded.Apply(e)
			return nil
		})
		if unread == nil && folded.Complete(log) && (err != nil || !r.Complete) {
			t.Fatalf("the fold takes the journal for whole, and it lacks %v: %v", r.Lost, err)
		}
		if err != nil || r.Complete {
			return
		}
		text := testkit.Must(json.Marshal(r.State))
		e := event.New(event.SessionImported, nil, "", event.SessionImportedData{State: text})
		e.Seq, e.RunID = 1, r.State.RunID
		st := testkit.Must(progress.Apply(twoStages, state.State{}, e))
		if st.Status.Final() {
			return
		}
		for _, next := range []event.Event{event.New(event.KernelStart, nil, "", event.KernelStartData{}), event.New(event.SessionResumed, nil, "", event.SessionResumedData{})} {
			if next.Type == event.KernelStart {
				next.Epoch = st.Epoch + 1
			}
			if st, err = progress.Apply(twoStages, st, next); err != nil {
				t.Fatal(err)
			}
		}
		if len(schedule.Decide(twoStages, st)) == 0 && len(st.Timers) == 0 {
			t.Fatalf("nothing would be done: %s", text)
		}
	})
}
