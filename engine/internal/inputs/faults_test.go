package inputs

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// obstruct puts a file in place of a directory, so that the directory is unreadable.
func obstruct(t *testing.T, dir *store.Dir, name string) {
	t.Helper()
	testkit.OK(t, os.RemoveAll(dir.Abs(name)))
	testkit.OK(t, dir.Replace(name, []byte("in the way\n")))
}

// An unreadable output is an error with the file's name for every caller: an agent must not take it for missing.
func TestOutputsThatCannotBeRead(t *testing.T) {
	const outputsDir = "parallel-00-first/providers/a/stage-01-two/iterations"
	end := event.Location{Node: "2", Visit: 1, Run: 1, Iteration: 1}
	build := func(in plan.Inputs, at event.Location) func(*Reader, state.State) error {
		return func(r *Reader, st state.State) error {
			n := *r.plan.Find("2")
			n.Inputs = in
			_, err := r.Build(st, &n, at, "progress.md")
			return err
		}
	}
	for _, tt := range []struct {
		name, dir string
		ask       func(r *Reader, st state.State) error
	}{
		{"those of an earlier block", outputsDir, build(plan.Inputs{"from": json.RawMessage(`"first"`)}, end)},
		{"those of a block's stage", outputsDir, build(plan.Inputs{"from_parallel": json.RawMessage(`"two"`)}, end)},
		{"all of a node", outputsDir, func(r *Reader, st state.State) error { _, err := r.NodeOutputs(st, "0"); return err }},
		{"those in the manifest", outputsDir, func(r *Reader, st state.State) error {
			_, err := r.WriteManifest(st, event.Location{Node: "0", Visit: 1, Run: 1}, time.Time{})
			return err
		}},
		{
			"its own earlier ones", "stage-02-end/iterations",
			build(nil, event.Location{Node: "2", Visit: 1, Run: 1, Iteration: 2}),
		},
		{"the inputs of a nested pipeline", outputsDir, func(r *Reader, st state.State) error {
			r.plan.Nodes[2] = nest(plan.Inputs{"from": json.RawMessage(`"first"`)})
			_, err := r.Build(st, r.plan.Find("2.0"), event.Location{Node: "2.0", Visit: 1, Run: 1, Iteration: 1}, "progress.md")
			return err
		}},
		{"the inputs of a nested pipeline from a block", outputsDir, func(r *Reader, st state.State) error {
			r.plan.Nodes[2] = nest(plan.Inputs{"from_parallel": json.RawMessage(`"two"`)})
			_, err := r.Initial(st, "2.0")
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, st := newParallelSession(t)
			obstruct(t, r.dir, tt.dir)
			testkit.Fails(t, tt.ask(r, st), tt.dir+"/001/output.md")
		})
	}
}

// A location, a node or a source that the plan does not have is an error, too.
func TestUnknownSources(t *testing.T) {
	r, st := newParallelSession(t)
	nowhere := event.Location{Node: "7", Visit: 1, Run: 1, Iteration: 1}
	if _, err := r.Build(st, &plan.Node{Path: "7"}, nowhere, "progress.md"); err == nil {
		t.Error("there is a context for a node that is not in the plan")
	}
	testkit.Fails(t, testkit.Error(r.WriteManifest(st, nowhere, time.Time{})), `"7"`)
	n := plan.Node{Path: "2", Inputs: plan.Inputs{"from_parallel": json.RawMessage(`7`)}}
	testkit.Fails(t, testkit.Error(r.Build(st, &n, event.Location{Node: "2", Visit: 1, Run: 1, Iteration: 1}, "progress.md")), "read inputs.from_parallel")
}

// nest returns a node that embeds a pipeline with one stage.
func nest(in plan.Inputs) plan.Node {
	embedded := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "inner", Kind: plan.KindStage}}}
	embedded.Session.Inputs = []string{"/given"}
	return plan.Node{Path: "2", ID: "end", Kind: plan.KindPipeline, Inputs: in, Plan: embedded}
}

// U095: a nested pipeline gets its own files first, then those from the inputs of the node that embeds it.
func TestInitialOfANestedPipeline(t *testing.T) {
	first := []string{"parallel-00-first/providers/b/stage-01-two/iterations/001/output.md", "parallel-00-first/providers/a/stage-01-two/iterations/001/output.md"}
	for _, tt := range []struct {
		name string
		in   plan.Inputs
		want []string
	}{
		{"nothing but its own", nil, nil},
		{"of a node", plan.Inputs{"from": json.RawMessage(`"first"`)}, first},
		{"of a block, the latest of each", plan.Inputs{"from_parallel": json.RawMessage(`{"stage": "one", "providers": ["a", "b"]}`)}, []string{
			"parallel-00-first/providers/a/stage-00-one/iterations/003/output.md", // b has no output
		}},
		{"of a block, all", plan.Inputs{"from_parallel": json.RawMessage(`{"stage": "one", "select": "history"}`)}, []string{
			"parallel-00-first/providers/a/stage-00-one/iterations/001/output.md", "parallel-00-first/providers/a/stage-00-one/iterations/003/output.md",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, st := newParallelSession(t)
			r.plan.Nodes[2] = nest(tt.in)
			want := []string{"/given"}
			for _, name := range tt.want {
				want = append(want, r.dir.Abs(name))
			}
			got := testkit.Must(r.Initial(st, "2.0"))
			testkit.Equal(t, want, got)
		})
	}
}

// The outputs of a node with steps are the last outputs of the steps, in the steps' order.
func TestOutputsOfSteps(t *testing.T) {
	r, st := newParallelSession(t)
	r.plan.Nodes[2].Steps = &plan.Steps{}
	st.Nodes["2"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, NodeLoops: state.NodeLoops{Order: []string{"z", "a", "m"}, Steps: map[string]state.Step{
		"a": {Output: &event.Ref{Path: "a.md"}}, "z": {Output: &event.Ref{Path: "z.md"}}, "m": {},
	}}}
	got := testkit.Must(r.NodeOutputs(st, "2"))
	testkit.Equal(t, []string{r.dir.Abs("z.md"), r.dir.Abs("a.md")}, got)
}
