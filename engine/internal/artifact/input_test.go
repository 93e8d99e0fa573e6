package artifact

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// chain returns a plan with the nodes plan, execute and verify, and a pipeline of analyze and spec.
func chain() *plan.Plan {
	inner := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "analyze", Kind: plan.KindStage}, {Path: "1", ID: "spec", Kind: plan.KindStage}}}
	return &plan.Plan{Nodes: []plan.Node{
		{Path: "0", ID: "plan", Kind: plan.KindStage},
		{Path: "1", ID: "execute", Kind: plan.KindStage},
		{Path: "2", ID: "verify", Kind: plan.KindStage},
		{Path: "3", ID: "inner", Kind: plan.KindPipeline, Plan: inner},
	}}
}

func TestInput(t *testing.T) {
	for _, tt := range []struct {
		name   string
		node   string
		inputs string            // inputs.from
		entry  string            // the path of the node that the run came from
		output map[string]string // the artifacts of entered nodes, "" for none; "$input" is the run's
		supply string            // the artifact supplied for execute
		from   string            // "" for none
		path   string
	}{
		{name: "nothing at all", node: "0"},
		{name: "the first node, of what the run began with", node: "0", output: map[string]string{"$input": "input"}, from: "$input", path: "input"},
		{name: "of whom inputs.from names", node: "2", inputs: "plan", entry: "1", output: map[string]string{"0": "p", "1": "e"}, from: "plan", path: "p"},
		{name: "the named node has none", node: "2", inputs: "plan", entry: "1", output: map[string]string{"0": "", "1": "e"}, from: "execute", path: "e"},
		{name: "of where the run came from, also from behind", node: "1", entry: "2", output: map[string]string{"0": "p", "2": "v"}, from: "verify", path: "v"},
		{name: "where it came from has none", node: "1", entry: "2", output: map[string]string{"0": "p", "2": ""}, from: "plan", path: "p"},
		{name: "the nearest before", node: "2", entry: "1", output: map[string]string{"$input": "input", "0": "p", "1": ""}, from: "plan", path: "p"},
		{name: "given", node: "2", output: map[string]string{"$input": "input"}, supply: "g", from: "execute", path: "g"},
		{name: "made, though given", node: "2", entry: "1", output: map[string]string{"1": "e"}, supply: "g", from: "execute", path: "e"},
		{name: "not its own", node: "0", output: map[string]string{"$input": "input", "0": "p"}, from: "$input", path: "input"},
		{name: "embedded, which began with nothing", node: "3.0", output: map[string]string{"$input": "input", "2": "v", "3": "", "3.0": ""}},
		{name: "embedded: of its neighbour", node: "3.1", entry: "3.0", output: map[string]string{"3.0": "a"}, from: "analyze", path: "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, st := chain(), state.State{Position: state.Position{Nodes: map[string]state.Node{}}}
			for path, name := range tt.output {
				switch ref := (event.Ref{Path: name}); {
				case path == plan.RequiresStart:
					st.Input = &ref
				case name == "":
					st.Nodes[path] = state.Node{}
				default:
					st.Nodes[path] = state.Node{Artifacts: map[string]event.Ref{event.Artifact: ref}}
				}
			}
			if tt.entry != "" {
				st.Nodes[tt.node] = state.Node{Entry: state.Entry{From: tt.entry}}
			}
			if tt.supply != "" {
				st.SuppliedArtifacts = map[string]event.Ref{"1": {Path: tt.supply}}
			}
			n := p.Find(tt.node)
			if tt.inputs != "" {
				n.Inputs = plan.Inputs{"from": json.RawMessage(`"` + tt.inputs + `"`)}
			}
			in, has := FindInput(p, st, n, event.Location{Node: tt.node, Visit: 1, Run: 1, Iteration: 1})
			if has != (tt.from != "") || has && (in.From != tt.from || in.Ref.Path != tt.path) {
				t.Errorf("%+v, %v", in, has)
			}
		})
	}
}

func TestEffectiveInput(t *testing.T) {
	d, p := session(t), chain()
	p.Nodes[0].Artifact = &plan.Artifact{Version: "2.1"}
	write := func(visit int, version string, data map[string]any) event.Ref {
		t.Helper()
		a := Artifact{Meta: Meta{StageName: "plan", Version: version, CreatedAt: time.Unix(0, 0)}, Data: data}
		return testkit.Must(Write(d, p, event.Location{Node: "0", Visit: visit, Run: 1}, a))
	}
	began := write(1, "1.0", map[string]any{"original_request": "do it", "priority": "low"})
	fits, other := write(2, "2.0", map[string]any{"priority": "high", "tasks": nil}), write(3, "1.0", map[string]any{})
	by := func(ref event.Ref) map[string]state.Node {
		return map[string]state.Node{"0": {Artifacts: map[string]event.Ref{event.Artifact: ref}}}
	}
	for _, tt := range []struct {
		name  string
		state state.State
		want  NodeInput
		fault string
	}{
		{name: "nothing", want: NodeInput{Data: map[string]any{}}},
		{name: "the run's input", state: state.State{Position: state.Position{Input: &began}}, want: NodeInput{From: "$input", Data: map[string]any{"original_request": "do it", "priority": "low"}}},
		{
			name: "over what the run began with", state: state.State{Position: state.Position{Input: &began, Nodes: by(fits)}},
			want: NodeInput{From: "plan", Data: map[string]any{"original_request": "do it", "priority": "high", "tasks": nil}},
		},
		{name: "of another version", state: state.State{Position: state.Position{Nodes: by(other)}}, fault: "the artifact of plan has version 1.0, but its contract has 2.1"},
		{name: "that was changed", state: state.State{Position: state.Position{Nodes: by(event.Ref{Path: fits.Path, Size: fits.Size, SHA256: other.SHA256})}}, fault: "differs from the recorded file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadNodeInput(d, p, tt.state, &p.Nodes[1], event.Location{Node: "1", Visit: 1, Run: 1})
			if tt.fault != "" {
				testkit.Fails(t, err, tt.fault)
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// A supplied file with a type in its envelope must have the contract's type. A file without an envelope is accepted.
func TestSuppliedArtifactOfAnotherType(t *testing.T) {
	spec := &plan.Artifact{Type: "specification", Version: "1.0"}
	for _, tt := range []struct {
		name, text string
		contract   *plan.Artifact
		path       string
	}{
		{"no envelope", "a: 1", spec, ""},
		{"the same", "_artifact_meta: {artifact_type: specification, version: '1.2'}\na: 1", spec, ""},
		{"another", "_artifact_meta: {artifact_type: analysis_result, version: '1.0'}\na: 1", spec, "$._artifact_meta.artifact_type"},
		{"a contract without a type", "_artifact_meta: {artifact_type: analysis_result}\na: 1", &plan.Artifact{}, ""},
		{"a field of the start", "_artifact_meta: {artifact_type: analysis_result}\na: 1", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, faults, err := Validate([]byte(tt.text), tt.contract)
			testkit.OK(t, err)
			path := ""
			if len(faults) > 0 {
				path = faults[0].Path
			}
			if path != tt.path || data["a"] != 1 {
				t.Errorf("fault at %q, want %q; data %v", path, tt.path, data)
			}
		})
	}
}
