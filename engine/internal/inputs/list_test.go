package inputs

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// FuzzRender checks that the file equals that of [json.MarshalIndent] for any names and paths, although the lists are
// added separately.
func FuzzRender(f *testing.F) {
	f.Add("plan", "a/output.md", "b/output.md", 2, 3)
	f.Add("from_previous_iterations", "\n    \"from_previous_iterations\": []", "<&>\u2028\"\\", 1, 1)
	f.Add("from_previous_iterations", "x", "y", 0, 2)
	f.Add("", "\xff", "", 1, 0)
	f.Fuzz(func(t *testing.T, id, one, other string, before, earlier int) {
		paths := func(n int) (all []string) {
			for i := range n & 7 {
				all = append(all, []string{one, other, id}[i%3])
			}
			return all
		}
		c := Context{
			Session: one, Stage: Stage{ID: id, Template: other}, Paths: Paths{Output: one}, Commands: map[string]string{id: one},
			Inputs: Inputs{
				FromStage: map[string]List{id: newList(paths(before))}, FromPreviousIterations: newList(paths(earlier)),
				FromInitial: paths(before + earlier), FromParallel: FromParallel{list: before&1 > 0},
			},
		}
		want := testkit.Must(json.MarshalIndent(c, "", "  "))
		got := testkit.Must(render(c))
		testkit.Equal(t, string(want), string(got))
	})
}

// U095: a list grows with the iterations. A reader that starts in the middle, as after a resume, returns the same
// list as one from the beginning, and so does a request for fewer.
func TestListOfAReaderThatBeginsLater(t *testing.T) {
	dir, p := loopDir(t)
	always := NewReader(dir, p)
	write := func(r *Reader, iteration int) string {
		t.Helper()
		at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: iteration}
		c := testkit.Must(r.Build(state.State{Identity: state.Identity{Session: "demo"}}, &p.Nodes[0], at, "progress.md"))
		name := testkit.Must(Write(dir, store.Node("stage-00-a").Iteration(iteration), c))
		text := testkit.Must(dir.Read(name, 1<<20))
		return string(text)
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

func newList(paths []string) List {
	var l List
	for _, p := range paths {
		l.add(p)
	}
	return l
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
