package inputs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// U095: Outputs returns the outputs of completed iterations in order, without missing ones, in any order of calls.
func TestOutputs(t *testing.T) {
	_, dir := testkit.Session(t, t.TempDir(), "demo")
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "a", Kind: plan.KindStage}}}
	r := inputs.NewReader(dir, p)
	const first, third, again = "stage-00-a/iterations/001/output.md", "stage-00-a/iterations/003/output.md", "stage-00-a/visit-002/iterations/001/output.md"
	for _, tt := range []struct {
		written     string
		visit, last int
		want        []string
	}{
		{"", 1, 0, []string{}},
		{first, 1, 1, []string{first}},
		{"", 1, 2, []string{first}},
		{third, 1, 3, []string{first, third}},
		{"", 1, 1, []string{first}},
		{again, 2, 1, []string{again}},
		{"", 1, 3, []string{first, third}},
	} {
		if tt.written != "" {
			testkit.OK(t, dir.Replace(tt.written, []byte("said\n")))
		}
		want := []string{}
		for _, name := range tt.want {
			want = append(want, dir.Abs(name))
		}
		got := testkit.Must(r.Outputs(event.Location{Node: "0", Visit: tt.visit, Run: 1}, tt.last))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("iterations 1 to %d of visit %d (-want +got):\n%s", tt.last, tt.visit, diff)
		}
	}
	if _, err := r.Outputs(event.Location{Node: "7"}, 1); err == nil {
		t.Error("a node that the plan does not have gave no error")
	}
}
