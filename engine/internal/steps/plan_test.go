package steps

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// planned plans the steps of a node from the artifact of the node before it; made is the artifact's data, nil for no
// artifact.
func planned(t *testing.T, visit int, made map[string]any) (event.StepsPlannedData, *store.Dir) {
	t.Helper()
	_, dir := testkit.Session(t, t.TempDir(), "demo")
	p := &plan.Plan{Nodes: []plan.Node{
		{Path: "0", ID: "plan", Kind: plan.KindStage, Artifact: &plan.Artifact{}},
		{Path: "1", ID: "execute", Kind: plan.KindStage, Steps: &plan.Steps{From: "plan", Path: "steps"}},
	}}
	st := state.State{Identity: state.Identity{Session: "demo"}, Position: state.Position{Nodes: map[string]state.Node{"1": {NodeProgress: state.NodeProgress{Visit: visit, Run: 1}}}}}
	if made != nil {
		ref := testkit.Must(artifact.Write(dir, p, event.Location{Node: "0", Visit: 1, Run: 1}, artifact.Artifact{Meta: artifact.NewMeta(&p.Nodes[0], time.Now()), Data: made}))
		st.Nodes["0"] = state.Node{Artifacts: map[string]event.Ref{event.Artifact: ref}}
	}
	at := event.Location{Node: "1", Visit: visit, Run: 1, Iteration: 1}
	j := kernel.EffectRequest{Command: schedule.Command{Kind: schedule.PlanSteps, Key: at.Key(event.KeyPlan, 1), Location: at}, Node: &p.Nodes[1], State: st}
	e := (&Planner{&effect.Env{Plan: p, Dir: dir, Log: hclog.NewNullLogger()}}).Steps(j)
	d, err := event.Decode[event.StepsPlannedData](e)
	if err != nil || e.Type != event.StepsPlanned || e.Key != j.Command.Key {
		t.Fatalf("%s %s %v", e.Type, e.Data, err)
	}
	if _, err := e.AppendLine(nil); err != nil {
		t.Error(err)
	}
	return d, dir
}

// The whole item is in a file whose digest is the same for the same item, whatever the order of its keys.
func TestSteps(t *testing.T) {
	d, dir := planned(t, 2, map[string]any{"steps": []any{
		map[string]any{"id": "s1", "title": strings.Repeat("t", 100), "action": "RUN_COMMAND", "z": 1, "a": []any{"x"}},
		map[string]any{"id": "s2", "depends_on": "s1"},
	}})
	if d.Failure != nil || len(d.Steps) != 2 {
		t.Fatalf("%+v", d)
	}
	want := event.StepData{ID: "s1", Title: strings.Repeat("t", 77) + "…", Action: "RUN_COMMAND", Item: d.Steps[0].Item}
	if diff := cmp.Diff(want, d.Steps[0]); diff != "" || d.Steps[0].Item.Path != "stage-01-execute/visit-002/steps/s1/step.json" {
		t.Errorf("%s %+v", diff, d.Steps[0].Item)
	}
	text, err := dir.ReadRef(d.Steps[0].Item)
	if err != nil || string(text) != `{"a":["x"],"action":"RUN_COMMAND","id":"s1","title":"`+strings.Repeat("t", 100)+`","z":1}`+"\n" {
		t.Errorf("%s, %v", text, err)
	}
	if !cmp.Equal(d.Steps[1].DependsOn, []string{"s1"}) {
		t.Errorf("%+v", d.Steps[1])
	}
}

func TestStepsThatCannotBePlanned(t *testing.T) {
	d, _ := planned(t, 1, nil)
	if f := d.Failure; f == nil || f.ErrorType != "result_missing" || f.Message != "the steps of execute come from the artifact of plan, which does not exist" || f.Node != "execute" {
		t.Errorf("%+v", f)
	}
	d, _ = planned(t, 1, map[string]any{"steps": []any{map[string]any{"id": "a/b"}}})
	if f := d.Failure; f == nil || f.ErrorType != "result_invalid" || !strings.HasPrefix(f.Message, "the artifact of plan has no steps that can be made: the step steps[0] has no usable id") || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
}

// A line of the journal has to hold the list: titles are left out first, and a list that still does not fit is refused.
func TestManySteps(t *testing.T) {
	steps := func(n int, depends bool) []event.StepData {
		list := make([]event.StepData, n)
		var ids []string
		for i := range list {
			id := fmt.Sprintf("step-%03d", i)
			list[i] = event.StepData{ID: id, Title: strings.Repeat("title ", 10), Item: event.Ref{Path: "stage-01-execute/steps/" + id + "/step.json", SHA256: strings.Repeat("0", 64), Size: 100}}
			if depends {
				list[i].DependsOn = slices.Clone(ids)
			}
			ids = append(ids, id)
		}
		return list
	}
	for _, tt := range []struct {
		n       int
		depends bool
		titles  bool
		refused string
	}{
		{200, false, true, ""},
		{280, false, false, ""},
		{250, true, false, "the 250 steps and their dependencies take "},
	} {
		list, err := fitting(steps(tt.n, tt.depends))
		if tt.refused != "" {
			if failure.KindOf(err) != failure.ResultInvalid || !strings.HasPrefix(err.Error(), tt.refused) {
				t.Errorf("%d steps: %v", tt.n, err)
			}
			continue
		}
		if err != nil || len(list) != tt.n || (list[0].Title != "") != tt.titles {
			t.Fatalf("%d steps, %v", len(list), err)
		}
		e := event.New(event.StepsPlanned, nil, "plan:1/v1/r1/-/-/i1#1", event.StepsPlannedData{Steps: list})
		if _, err := e.AppendLine(nil); err != nil {
			t.Error(err)
		}
	}
}
