package inputs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// newParallelSession returns a reader and the state of a session with two blocks and a stage. Both blocks have a
// stage of the same name; the first block is complete.
func newParallelSession(t *testing.T) (*Reader, state.State) {
	t.Helper()
	_, dir := testkit.Session(t, t.TempDir(), "demo")
	block := func(path, id string) plan.Node {
		return plan.Node{Path: path, ID: id, Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "b"}, {Name: "a"}}, Stages: []plan.Node{
			{Path: path + ".0", ID: "one", Kind: plan.KindStage, Termination: plan.Termination{"type": "judgment"}},
			{Path: path + ".1", ID: "two", Kind: plan.KindStage, Termination: plan.Termination{"type": "queue"}},
		}}
	}
	p := &plan.Plan{Nodes: []plan.Node{block("0", "first"), block("1", "second"), {Path: "2", ID: "end", Kind: plan.KindStage}}}
	for _, name := range []string{"a/stage-00-one/iterations/001", "a/stage-00-one/iterations/003", "a/stage-01-two/iterations/001", "b/stage-01-two/iterations/001"} {
		testkit.OK(t, dir.Replace("parallel-00-first/providers/"+name+"/output.md", []byte("outputs\n")))
	}
	done := []state.BranchStage{{Iterations: 3, Reason: "flat"}, {Iterations: 1, Reason: "max_iterations"}}
	return NewReader(dir, p), state.State{Position: state.Position{Nodes: map[string]state.Node{"0": {
		NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, Artifacts: map[string]event.Ref{event.Manifest: {Path: "parallel-00-first/manifest.json"}},
		NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{"a": {Done: done}, "b": {Done: done}}},
	}}}}
}

// marshalCompact returns JSON without the session's directory.
func marshalCompact(t *testing.T, r *Reader, v any) string {
	t.Helper()
	b := testkit.Must(json.Marshal(v))
	return strings.ReplaceAll(strings.ReplaceAll(string(b), r.dir.Path()+"/", ""), "parallel-00-first/providers/", "P/")
}

// U095, U096, D15: from_parallel accepts a text, an object or a list, keeps the filter's order, and omits missing data.
func TestFromParallel(t *testing.T) {
	r, st := newParallelSession(t)
	one := func(provider, history string) string {
		output := `"P/a/stage-00-one/iterations/003/output.md"`
		if provider == "b" {
			output = `""`
		}
		return `"` + provider + `":{"output":` + output + `,"status":"P/` + provider + `/stage-00-one/iterations/003/status.json","iterations":3,"termination_reason":"plateau"` + history + `}`
	}
	head := func(selected string) string {
		return `{"stage":"one","block":"first","select":"` + selected + `","manifest":"parallel-00-first/manifest.json","providers":{`
	}
	outputs := `,"history":["P/a/stage-00-one/iterations/001/output.md","P/a/stage-00-one/iterations/003/output.md"]`
	for _, tt := range []struct{ name, written, want string }{
		{"nothing", ``, `{}`},
		{"null", `null`, `{}`},
		{"a text: all providers in the block's order", `"one"`, head("latest") + one("b", "") + "," + one("a", "") + `}}`},
		{"the filter's order", `{"stage":"one","providers":["a","missing","b"]}`, head("latest") + one("a", "") + "," + one("b", "") + `}}`},
		{"a filter without providers", `{"stage":"one","providers":[]}`, head("latest") + `}}`},
		{"history", `{"stage":"one","select":"history","providers":["a"]}`, head("history") + one("a", outputs) + `}}`},
		{"all is history, also without outputs", `{"stage":"one","select":"all","providers":["b"]}`, head("history") + one("b", `,"history":[]`) + `}}`},
		{"a block that is not complete", `{"stage":"one","block":"second"}`, `{}`},
		{"a stage that no block has", `"three"`, `{}`},
		{"a list", `["three",{"stage":"one","block":"first","providers":["a"]}]`, "[" + head("latest") + one("a", "") + `}}]`},
		{"a list of which nothing is there", `["three"]`, `[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := testkit.Must(r.fromParallel(st, json.RawMessage(tt.written), "2"))
			testkit.Equal(t, tt.want, marshalCompact(t, r, got))
		})
	}
	if got, err := r.fromParallel(st, json.RawMessage(`"one"`), "0"); err != nil || marshalCompact(t, r, got) != "{}" {
		t.Errorf("a block reads itself: %s, %v", marshalCompact(t, r, got), err)
	}
	for _, wrong := range []string{`7`, `{"stage":7}`, `["one",7]`, `{`} {
		if _, err := r.fromParallel(st, json.RawMessage(wrong), "2"); err == nil {
			t.Errorf("%s was read", wrong)
		}
	}
}

// U105: the manifest of a block has the content that the Bash engine writes (BASH-BEHAVIOUR 4.10).
func TestManifest(t *testing.T) {
	r, st := newParallelSession(t)
	ref, err := r.WriteManifest(st, event.Location{Node: "0", Visit: 1, Run: 1}, time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600)))
	if err != nil || ref.Path != "parallel-00-first/manifest.json" {
		t.Fatalf("%+v, %v", ref, err)
	}
	b := testkit.Must(r.dir.ReadRef(ref))
	left := func(provider, stage, iteration, n, reason, latest, history string) string {
		at := "P/" + provider + "/" + stage + "/iterations/" + iteration
		return `{"latest_output":` + latest + `,"status":"` + at + `/status.json","result":"` + at + `/result.json","iterations":` + n +
			`,"termination_reason":"` + reason + `","history":[` + history + `]}`
	}
	two := func(provider string) string {
		output := `"P/` + provider + `/stage-01-two/iterations/001/output.md"`
		return left(provider, "stage-01-two", "001", "1", "max_iterations", output, output)
	}
	first, third := `"P/a/stage-00-one/iterations/001/output.md"`, `"P/a/stage-00-one/iterations/003/output.md"`
	want := `{"block":{"name":"first","index":0,"stages":["one","two"]},"providers":{` +
		`"b":{"one":` + left("b", "stage-00-one", "003", "3", "plateau", `""`, "") + `,"two":` + two("b") + `},` +
		`"a":{"one":` + left("a", "stage-00-one", "003", "3", "plateau", third, first+","+third) + `,"two":` + two("a") + `}},"completed_at":"2026-01-02T02:04:05Z"}`
	testkit.Equal(t, want, marshalCompact(t, r, json.RawMessage(b)))
}

// U106: inputs.from in a block means the provider's own earlier stages, then the pipeline's nodes. For the id of a
// block it means the outputs of the block's last stage, by provider.
func TestFromStageInABlock(t *testing.T) {
	r, st := newParallelSession(t)
	st.Nodes["1"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{"a": {Stage: 1, Done: []state.BranchStage{{Iterations: 1}}}}}}
	testkit.OK(t, r.dir.Replace("parallel-01-second/providers/a/stage-00-one/iterations/001/output.md", []byte("outputs\n")))
	own := `["parallel-01-second/providers/a/stage-00-one/iterations/001/output.md"]`
	block := `["P/b/stage-01-two/iterations/001/output.md","P/a/stage-01-two/iterations/001/output.md"]`
	for _, tt := range []struct {
		at   event.Location
		from string
		want string
	}{
		{event.Location{Node: "1.1", Visit: 1, Run: 1, Branch: "a"}, "one", own},
		{event.Location{Node: "1.1", Visit: 1, Run: 1, Branch: "a"}, "first", block},
		{event.Location{Node: "2", Visit: 1, Run: 1}, "first", block},
		{event.Location{Node: "2", Visit: 1, Run: 1}, "one", `[]`},
	} {
		got := testkit.Must(r.fromStage(st, tt.at, tt.from, latest))
		if diff := cmp.Diff(tt.want, marshalCompact(t, r, got)); diff != "" {
			t.Errorf("%s at %s: %s", tt.from, tt.at.Node, diff)
		}
	}
}

// FuzzFromParallel checks that any text is decoded to requests or an error, and that a decoded text is JSON.
func FuzzFromParallel(f *testing.F) {
	for _, seed := range []string{``, `null`, `"one"`, `{"stage":"one","providers":["a"]}`, `["one",{"stage":"two","select":"history"}]`, `[[]]`, `{"stage":null}`, ` [ ] `, "\"\"\v"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, list, err := parseSourceRequests(raw)
		if err != nil {
			return
		}
		if !list && len(all) > 1 {
			t.Errorf("%q has %d sources and no brackets", raw, len(all))
		}
		if len(all) > 0 && !json.Valid(raw) {
			t.Errorf("%q is not JSON and was read", raw)
		}
	})
}
