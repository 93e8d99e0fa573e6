package recovery_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// document returns a state.json of the Bash engine with more members.
func document(more string) string {
	return `{"session":"s","type":"pipeline","started_at":"2026-02-05T10:00:00Z",` + more + `}`
}

const (
	viewOfP = "parallel-02-c/providers/p/state.json"
	viewOfQ = "parallel-02-c/providers/q/state.json"
)

// D17: in an old session without events, a block has the plausible data of its providers' state files.
func TestBashBlockWithoutEvents(t *testing.T) {
	const done = `{"provider":"p","session":"s","status":"complete","stages":[{"name":"d","iterations":2,"termination_reason":"max_iterations"}]}`
	for _, tt := range []struct {
		name  string
		views map[string]string
		want  map[string]string // status, phase, completed, reason of the last stage
	}{
		{"no views", nil, nil},
		{"one is done", map[string]string{viewOfP: done}, map[string]string{"p": "complete settled 2 max_iterations"}},
		{
			"one is done, one at work",
			map[string]string{viewOfP: done, viewOfQ: `{"provider":"q","session":"s","status":"running","iteration":2,"iteration_completed":1,"stages":[]}`},
			map[string]string{"p": "complete settled 2 max_iterations", "q": "running ready 1 "},
		},
		{
			"one has failed",
			map[string]string{viewOfQ: `{"provider":"q","session":"s","status":"failed","iteration":1,"stages":[],"current_stage_name":"d","error":"Exit code 7"}`},
			map[string]string{"q": "failed settled 0 Exit code 7"},
		},
		{"pending", map[string]string{viewOfP: `{"session":"s","status":"pending"}`}, nil},
		{"of another session", map[string]string{viewOfP: strings.Replace(done, `"s"`, `"other"`, 1)}, nil},
		{"garbage", map[string]string{viewOfP: `{"session":`}, nil},
		{
			"counts below zero",
			map[string]string{viewOfP: `{"session":"s","status":"running","iteration":-3,"iteration_completed":-2,"stages":[]}`},
			map[string]string{"p": "running ready 0 "},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"pipeline.yaml": "name: two", "state.json": document(`"status":"running","current_stage":2`)}
			for name, text := range tt.views {
				files[name] = text
			}
			r := testkit.Must(restored(t, files))
			if r.State.At != "2" {
				t.Errorf("continues at %q, want the block", r.State.At)
			}
			var got map[string]string
			for id, b := range r.State.Nodes["2"].Branches {
				if got == nil {
					got = map[string]string{}
				}
				got[id] = fmt.Sprint(b.Status, " ", b.Loop.Phase, " ", b.Loop.Completed, " ", b.Loop.Reason)
			}
			testkit.Equal(t, tt.want, got)
		})
	}
}

// Whatever state.json of an old session holds, the restored state can be continued.
func TestBashDocument(t *testing.T) {
	begin := ofBash(0, "session_start", "0/0", `{"mode":"pipeline","pipeline":"two"}`) + ofBash(0, "node_start", "0/0", "{}")
	both := ofBash(1, "iteration_start", "0/1", "{}") + ofBash(2, "iteration_complete", "0/1", "{}")
	for _, tt := range []struct {
		name, events, document string
		want                   string // status, node, iterations of the first node, reason or failure
	}{
		{"complete", "", `"status":"complete","completed_at":"2026-02-05T10:01:00Z","completion_reason":"all_loops_complete","current_stage":1`, "completed 1 0 all_loops_complete"},
		{"complete by state.json, though the last event is lost", begin + both, `"status":"complete","completed_at":"2026-02-05T10:01:00Z","completion_reason":"plateau"`, "completed 0 1 plateau"},
		{"complete before it was run again", begin + both, `"status":"complete","completed_at":"2026-02-05T09:00:00Z"`, "running 0 1 "},
		{"failed, nothing says why", begin, `"status":"failed","failed_at":"2026-02-05T10:01:00Z"`, "failed 0 0 it failed"},
		{"failed before it was run again", begin + both, `"status":"failed","failed_at":"2026-02-05T09:00:00Z"`, "running 0 1 "},
		{
			"failed behind a stage that is done", begin + both + ofBash(3, "node_complete", "0/1", `{"status":"complete"}`),
			`"status":"failed","failed_at":"2026-02-05T10:01:00Z"`, "running 1 1 ",
		},
		{
			"state.json has stages without events", begin + both,
			`"status":"running","stages":[{"index":0,"status":"complete","timestamp":"2026-02-05T10:00:05Z"},{"index":1,"status":"running","timestamp":"2026-02-05T10:00:05Z"}]`, "running 1 1 ",
		},
		{
			"stages that there are none of", begin + both,
			`"status":"running","stages":[{"index":-1,"status":"complete","timestamp":"2026-02-05T10:00:05Z"},{"index":7,"status":"complete","timestamp":"2026-02-05T10:00:05Z"}]`, "running 0 1 ",
		},
		{
			"the same without events", "",
			`"status":"running","current_stage":1,"stages":[{"index":-1},{"index":7},{"index":0,"status":"complete","timestamp":"never"}]`, "running 1 0 ",
		},
		{"a stage that there is none of is at work", "", `"status":"running","current_stage":9`, "running 0 -1 "},
		{"a history that is all there is", begin, `"status":"running","history":[{"stage":"a","iteration":2,"timestamp":"2026-02-05T10:00:04Z"}]`, "running 0 2 "},
		{"a number below zero in the history", begin, `"status":"running","history":[{"stage":"a","iteration":-2,"timestamp":"2026-02-05T10:00:04Z"}]`, "running 0 0 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"pipeline.yaml": "name: two", "state.json": document(tt.document)}
			if tt.events != "" {
				files["events.jsonl"] = tt.events
			}
			r := testkit.Must(restored(t, files))
			completed := -1
			if n, entered := r.State.Nodes["0"]; entered {
				completed = n.Loop.Completed
			}
			why := r.State.Reason
			if r.State.Failure != nil {
				why = r.State.Failure.Message
			}
			testkit.Equal(t, tt.want, fmt.Sprint(r.State.Status, " ", r.State.At, " ", completed, " ", why))
			r.State.Epoch = 1
			if r.State.Status == state.Running && len(schedule.Decide(twoStages, r.State)) == 0 {
				t.Error("nothing would be done")
			}
		})
	}
}

// If nothing can be restored, the error names the missing data.
func TestUnrecoverableSession(t *testing.T) {
	begin := ofBash(0, "session_start", "0/0", `{"mode":"pipeline","pipeline":"two"}`)
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, "neither events.jsonl nor state.json"},
		{"garbage alone", map[string]string{"events.jsonl": "}{\n", "state.json": "}{"}, "neither events.jsonl nor state.json"},
		{"our state, which cannot be read", map[string]string{"state.json": `{"session":"s","event_seq":7,"scheduler":{"nodes":5}}`}, "neither events.jsonl nor state.json"},
		{"our state of another time", map[string]string{"state.json": `{"session":"s","event_seq":7,"scheduler":{"session":"s","run_id":"PL-1","event_seq":6}}`}, "neither events.jsonl nor state.json"},
		{"another session's", map[string]string{"state.json": `{"session":"other","status":"running"}`}, "neither events.jsonl nor state.json"},
		{"a node that the plan does not have", map[string]string{"events.jsonl": begin + ofBash(1, "iteration_start", "7/1", "{}")}, "the journal is at node 7: plan.json has no such node"},
		{"a node inside another", map[string]string{"events.jsonl": begin + ofBash(1, "iteration_start", "0.1/1", "{}")}, "the journal is at node 0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r, err := restored(t, tt.files); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q; %+v", err, tt.want, r.State)
			}
		})
	}
}

// AGENT_PIPELINES_LEGACY: state.json alone counts, and without a readable one nothing can be restored.
func TestLegacy(t *testing.T) {
	events := ofBash(0, "session_start", "0/0", `{"mode":"pipeline"}`) + ofBash(1, "iteration_start", "1/1", "{}")
	for name, tt := range map[string]struct{ document, at, fault string }{
		"state.json counts":         {document(`"status":"running","current_stage":0`), "0", ""},
		"state.json cannot be read": {"}{", "", "/state.json: invalid character '}' looking for beginning of value, and no event can be read"},
		"there is none":             {"", "", "there is no state.json, and no event can be read"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"pipeline.yaml": "x", "events.jsonl": events}
			if tt.document != "" {
				files["state.json"] = tt.document
			}
			f := testkit.Must(recovery.Read(session(t, files)))
			r, err := f.Restore(recovery.Params{Plan: twoStages, RunID: "PL-1", Legacy: true})
			if tt.fault == "" && (err != nil || r.State.At != tt.at) || tt.fault != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.fault)) {
				t.Errorf("at %q, %v", r.State.At, err)
			}
		})
	}
}

// The stop hint of an agent in an old session still reaches the strategy.
func TestRequestedStop(t *testing.T) {
	events := ofBash(0, "session_start", "0/0", `{"mode":"pipeline"}`) + ofBash(0, "node_start", "0/0", "{}") +
		ofBash(1, "iteration_start", "0/1", "{}") + ofBash(2, "iteration_complete", "0/1", "{}")
	for status, want := range map[string]string{`{"decision":"stop"}`: "stop", `{"decision":"continue"}`: "", `}{`: "", "": ""} {
		files := map[string]string{"pipeline.yaml": "x", "events.jsonl": events, "stage-00-a/iterations/001/result.json": "{}", "stage-00-a/iterations/001/output.md": "said"}
		if status != "" {
			files["stage-00-a/iterations/001/status.json"] = status
		}
		r := testkit.Must(restored(t, files))
		n := r.State.Nodes["0"]
		if n.Loop.Hint != want || n.Loop.Result == nil || n.Output == nil || n.Output.Path != "stage-00-a/iterations/001/output.md" {
			t.Errorf("status %q: %+v", status, n)
		}
	}
}

// U049: a loop of the Bash engine has no plan. Its settings come from its events, its directories, the last agent's
// context, and a plan.json that has inputs and nothing else.
func TestBashLoop(t *testing.T) {
	events := ofBash(0, "session_start", "0/0", `{"mode":"loop","stage":"work"}`) + "}{\n" +
		ofBash(1, "iteration_start", "0/1", `{"provider":"claude","model":"opus"}`) +
		ofBash(2, "iteration_start", "0/2", `{"provider":"codex","model":"big"}`)
	const last = "stage-00-work/iterations/002/context.json"
	limits := func(n int) string { return fmt.Sprintf(`{"limits":{"max_iterations":%d}}`, n) }
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  recovery.Loop
		loop  bool
	}{
		{"nothing", nil, recovery.Loop{}, false},
		{"a pipeline", map[string]string{"pipeline.yaml": "x", "state.json": `{"session":"s"}`}, recovery.Loop{}, false},
		{"events alone", map[string]string{"events.jsonl": events}, recovery.Loop{Stage: "work", Provider: "codex", Model: "big"}, true},
		{"a directory alone", map[string]string{"state.json": `{"session":"s"}`, "stage-00-tidy/iterations/001/context.json": limits(4)}, recovery.Loop{Stage: "tidy", Max: 4}, true},
		{"the newest limit that can be read", map[string]string{
			"state.json": `{"session":"s"}`, "stage-00-work/iterations/001/context.json": limits(9), last: "}{", "stage-00-work/iterations/003/result.json": "{}",
		}, recovery.Loop{Stage: "work", Max: 9}, true},
		{"inputs", map[string]string{"events.jsonl": events, last: limits(3), "plan.json": `{"session":{"inputs":["/in.md"]}}`}, recovery.Loop{Stage: "work", Max: 3, Provider: "codex", Model: "big", Inputs: []string{"/in.md"}}, true},
		{"a plan.json that is none", map[string]string{"events.jsonl": events, "plan.json": "}{"}, recovery.Loop{Stage: "work", Provider: "codex", Model: "big"}, true},
		{"state.json says it", map[string]string{"pipeline.yaml": "x", "state.json": `{"session":"s","type":"loop"}`}, recovery.Loop{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := testkit.Must(recovery.Read(session(t, tt.files)))
			got, loop := f.BashLoop()
			testkit.Equal(t, tt.want, got)
			testkit.Equal(t, tt.loop, loop)
			if !loop {
				return
			}
			p := got.Plan()
			if n := p.Nodes[0]; n.Ref != got.Stage || got.Max > 0 && n.Termination.Max() != got.Max || (n.Provider == nil) != (got.Provider == "") {
				t.Errorf("its plan has the stage %+v", n)
			}
			testkit.Fails(t, recovery.Complete(p), "has no")
		})
	}
}

// A directory in place of a file is a read error, not the end of the data.
func TestFilesOfASessionThatCannotBeRead(t *testing.T) {
	events := ofBash(0, "session_start", "0/0", `{"mode":"pipeline"}`) + ofBash(1, "iteration_start", "0/1", "{}") + ofBash(2, "iteration_complete", "0/1", "{}")
	for _, name := range []string{"stage-00-a/iterations/001/result.json", "stage-00-a/iterations/001/output.md"} {
		_, err := restored(t, map[string]string{"pipeline.yaml": "x", "events.jsonl": events, name + "/in-the-way": "x"})
		testkit.Fails(t, err, name)
	}
	dir := session(t, map[string]string{store.EventsFile + "/in-the-way": "x"})
	testkit.Fails(t, testkit.Error(recovery.Read(dir)), store.EventsFile)
}
