package outcome

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// newInputFixture returns a fixture with a start artifact of the data began, and an artifact of the first node with the
// data made. nil means no artifact. If made is not nil, the node was entered from the first node.
func newInputFixture(t *testing.T, began, made map[string]any) *fixture {
	t.Helper()
	b := newFixture(t, nil)
	b.at.Iteration = 0
	n := b.state.Nodes["1"]
	n.Inspect = true
	if began != nil {
		ref := testkit.Must(artifact.WriteStart(b.settler.Dir, artifact.Artifact{Meta: artifact.StartMeta(time.Now()), Data: began}))
		b.state.Input = &ref
	}
	if made != nil {
		first := &b.settler.Plan.Nodes[0]
		ref := testkit.Must(artifact.Write(b.settler.Dir, b.settler.Plan, event.Location{Node: "0", Visit: 1, Run: 1}, artifact.Artifact{Meta: artifact.NewMeta(first, time.Now()), Data: made}))
		n.From = "0"
		b.state.Nodes["0"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, Artifacts: map[string]event.Ref{event.Artifact: ref}}
	}
	b.state.Nodes["1"] = n
	return b
}

func (b *fixture) inspect() event.InputCheckedData {
	b.t.Helper()
	key := b.at.Key(event.KeyInput, 1)
	e := b.settler.Inspect(kernel.EffectRequest{Command: schedule.Command{Kind: schedule.Inspect, Location: b.at, Key: key}, Node: b.node, State: b.state})
	d, err := event.Decode[event.InputCheckedData](e)
	if err != nil || e.Type != event.InputChecked || e.Key != key || len(e.Data) > 16<<10 {
		b.t.Fatalf("%s %s (%d bytes) %v", e.Type, e.Key, len(e.Data), err)
	}
	return d
}

// U140, U141: the node that the run came from selects the required fields. A missing field is an error, null is a
// warning, and requirements for other nodes do not count.
func TestRequires(t *testing.T) {
	began := map[string]any{"request_id": "REQ-1", "spec": nil}
	made := map[string]any{"goal": "ship", "tasks": nil, "scope": map[string]any{"files": 2, "area": nil}}
	for _, tt := range []struct {
		name          string
		requires      map[string][]string
		began, output map[string]any
		entered       bool   // whether the run came from another node
		missing       string // the paths of the faults
		warnings      []string
	}{
		{name: "all there", requires: map[string][]string{"plan": {"goal", "scope.files", "request_id"}}, began: began, output: made},
		{
			name: "missing", requires: map[string][]string{"plan": {"goal", "owner", "scope.lines", "tasks.x"}}, began: began, output: made, missing: "$.owner $.scope.lines $.tasks.x",
			warnings: nil,
		},
		{
			name: "null", requires: map[string][]string{"plan": {"tasks", "scope.area"}}, began: began, output: made,
			warnings: []string{"tasks of the artifact of plan, which verify requires, is null", "scope.area of the artifact of plan, which verify requires, is null"},
		},
		{
			name: "null and missing", requires: map[string][]string{"plan": {"tasks", "owner"}}, output: made, missing: "$.owner",
			warnings: []string{"tasks of the artifact of plan, which verify requires, is null"},
		},
		{name: "of any", requires: map[string][]string{"plan": {"owner"}, "*": {"owner", "due"}}, output: made, missing: "$.owner $.due"},
		{name: "of another", requires: map[string][]string{"review": {"owner"}, "$input": {"owner"}}, output: made},
		{
			name: "of the start", requires: map[string][]string{"$input": {"spec", "request_id", "violation"}, "*": {"x"}, "plan": {"x"}}, began: began, missing: "$.violation",
			warnings: []string{"spec of the run's input, which verify requires, is null"},
		},
		{name: "of the start, where the run did not begin", requires: map[string][]string{"$input": {"x"}}, began: began, entered: true},
		{name: "no artifact at all", requires: map[string][]string{"$input": {"x"}, "*": {"x"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newInputFixture(t, tt.began, tt.output)
			b.node.Requires = tt.requires
			if tt.entered {
				n := b.state.Nodes["1"]
				n.From = "0"
				b.state.Nodes["1"] = n
			}
			d := b.inspect()
			if diff := cmp.Diff(tt.warnings, d.Warnings); diff != "" || d.Skip || d.Artifact != nil {
				t.Errorf("%s %+v", diff, d)
			}
			if tt.missing == "" {
				if d.Failure != nil {
					t.Errorf("%+v", d.Failure)
				}
				return
			}
			var paths []string
			for _, f := range d.Failure.Faults {
				if paths = append(paths, f.Path); f.Code != "VAL-001" || !strings.Contains(f.Message, "verify requires it of ") {
					t.Errorf("%+v", f)
				}
			}
			if got := strings.Join(paths, " "); got != tt.missing || d.Failure.ErrorType != "result_invalid" || !d.Failure.Escalate || d.Failure.Retryable || d.Failure.Node != "verify" ||
				!strings.HasPrefix(d.Failure.Message, "verify cannot begin: ") || !strings.HasSuffix(d.Failure.Message, strings.ReplaceAll(strings.ReplaceAll(tt.missing, "$.", ""), " ", ", ")) || d.Failure.Remedy == "" {
				t.Errorf("%s: %+v", got, d.Failure)
			}
		})
	}
}

// An artifact that was changed, or has another major version, keeps the node from beginning.
func TestInspectUnreadable(t *testing.T) {
	b := newInputFixture(t, nil, map[string]any{"goal": "ship"})
	b.node.SkipWhen = "goal == nil"
	b.settler.Plan.Nodes[0].Artifact = &plan.Artifact{Version: "2.0"}
	if d := b.inspect(); d.Failure == nil || d.Failure.ErrorType != "result_invalid" || !d.Failure.Escalate || !strings.Contains(d.Failure.Message, "version 1.0, but its contract") {
		t.Errorf("%+v", d.Failure)
	}
	b.settler.Plan.Nodes[0].Artifact = nil
	testkit.OK(t, os.WriteFile(b.settler.Dir.Abs("artifacts/00-plan.v1.yaml"), []byte("goal: other\n"), 0o644))
	if d := b.inspect(); d.Failure == nil || d.Failure.ErrorType != "tampered" || d.Skip {
		t.Errorf("%+v", d.Failure)
	}
}

// B4: a skipped node passes on the fields that its contract carries, with defaults for missing ones.
func TestSkipWhen(t *testing.T) {
	began := map[string]any{"request_id": "REQ-1", "original_request": "do it"}
	made := map[string]any{"priority": "low", "questions": []any{map[string]any{"priority": "optional"}}, "notes": nil}
	schema := json.RawMessage(`{"type":"object","required":["clarified","request_id"],"properties":{"clarified":{"type":"string"}}}`)
	contract := &plan.Artifact{
		Type: "clarified_requirements", Version: "1.3", Schema: schema, Carry: []string{"request_id", "priority", "keywords", "notes"},
		DefaultsFrom: map[string]string{"clarified": "original_request", "priority": "request_id", "absent": "missing"},
	}
	const none = `none(questions, .priority == "blocking")`
	for _, tt := range []struct {
		name     string
		when     string
		contract *plan.Artifact
		skip     bool
		data     map[string]any // of the artifact, nil for none
		warning  string
	}{
		{name: "true", when: none, contract: contract, skip: true, data: map[string]any{"request_id": "REQ-1", "priority": "low", "notes": nil, "clarified": "do it"}},
		{name: "false", when: `any(questions, .priority == "blocking")`, contract: contract},
		{name: "without a contract", when: none, skip: true},
		{name: "not to be evaluated", when: `none(priority, .x == 1)`, contract: contract, warning: "skip_when of verify cannot be evaluated, so that the node is not skipped: condition "},
		{name: "not to be read", when: `none(`, contract: contract, warning: "skip_when of verify cannot be read"},
		{name: "no yes or no", when: `priority`, contract: contract, warning: "is low, not true or false"},
		{
			name: "carried fields do not fit", when: none, contract: &plan.Artifact{Schema: schema, Carry: []string{"priority"}},
			warning: "skip_when of verify holds, but the fields of the artifact of plan do not meet the contract, so that the node is not skipped: $.clarified: VAL-001",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newInputFixture(t, began, made)
			b.node.SkipWhen, b.node.Artifact = tt.when, tt.contract
			d := b.inspect()
			if d.Skip != tt.skip || d.Failure != nil || (d.Reason == "skip_when holds: "+tt.when) != tt.skip || d.From != "plan" {
				t.Errorf("%+v", d)
			}
			if got := strings.Join(d.Warnings, "\n"); (got == "") != (tt.warning == "") || !strings.Contains(got, tt.warning) {
				t.Errorf("warnings %q", got)
			}
			if (d.Artifact != nil) != (tt.data != nil) {
				t.Fatalf("artifact %+v", d.Artifact)
			}
			if tt.data == nil {
				return
			}
			a, err := artifact.Load(b.settler.Dir, *d.Artifact)
			if diff := cmp.Diff(tt.data, a.Data); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
			if a.Meta.ArtifactType != "clarified_requirements" || a.Meta.Version != "1.3" || a.Meta.StageName != "verify" || a.Metadata.PipelineID != "PL-1" || d.Artifact.Path != "artifacts/01-verify.v1.yaml" {
				t.Errorf("%+v %s", a, d.Artifact.Path)
			}
		})
	}
}

// Required fields are checked first: a node whose input lacks one is not skipped, and fails.
func TestRequiresBeforeSkip(t *testing.T) {
	b := newInputFixture(t, nil, map[string]any{"a": nil})
	b.node.Requires, b.node.SkipWhen = map[string][]string{"plan": {"a", "b"}}, "true"
	if d := b.inspect(); d.Failure == nil || d.Skip || len(d.Warnings) != 1 {
		t.Errorf("%+v", d)
	}
	b.node.Requires = map[string][]string{"plan": {"a"}}
	b.node.Artifact = &plan.Artifact{}
	d := b.inspect()
	if !d.Skip || d.Artifact == nil {
		t.Fatalf("%+v", d)
	}
	if a, err := artifact.Load(b.settler.Dir, *d.Artifact); err != nil || len(a.Metadata.Warnings) != 1 {
		t.Errorf("%+v, %v", a.Metadata, err)
	}
}

// The event stays small for any number of warnings.
func TestManyWarnings(t *testing.T) {
	made := map[string]any{}
	var fields []string
	for i := range 500 {
		name := strings.Repeat("f", 200) + string(rune('a'+i%26)) + strings.Repeat("x", i)
		made[name], fields = nil, append(fields, name, "no"+name)
	}
	b := newInputFixture(t, nil, made)
	b.node.Requires = map[string][]string{"plan": fields}
	d := b.inspect()
	if len(d.Warnings) != 21 || d.Warnings[20] != "and 480 more" || d.Failure == nil || len(d.Failure.Faults) > event.MaxFaults {
		t.Errorf("%d warnings, %+v", len(d.Warnings), d.Failure)
	}
}

// An embedded pipeline begins with the effective input of its node, in a file of its own.
func TestEmbeddedInput(t *testing.T) {
	b := newInputFixture(t, map[string]any{"request_id": "REQ-1"}, map[string]any{"goal": "ship"})
	b.node.Kind, b.node.Plan = plan.KindPipeline, &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "in", Kind: plan.KindStage, Artifact: &plan.Artifact{}}}}
	d := b.inspect()
	if d.Input == nil || d.Input.Path != "artifacts/01-verify.input.v1.yaml" || d.Failure != nil {
		t.Fatalf("%+v", d)
	}
	n := b.state.Nodes["1"]
	n.Input = d.Input
	b.state.Nodes["1"], b.state.Nodes["1.0"] = n, state.Node{}
	e, err := artifact.ReadNodeInput(b.settler.Dir, b.settler.Plan, b.state, b.settler.Plan.Find("1.0"), event.Location{Node: "1.0", Visit: 1, Run: 1})
	if diff := cmp.Diff(artifact.NodeInput{From: "$input", Data: map[string]any{"request_id": "REQ-1", "goal": "ship"}}, e); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	b.node.SkipWhen = "true"
	if d := b.inspect(); !d.Skip || d.Input != nil {
		t.Errorf("a skipped one begins with something: %+v", d)
	}
}

// U152: a skipped node that wraps a target passes on its whole input.
func TestSkippedWrapKeepsInput(t *testing.T) {
	b := newInputFixture(t, nil, map[string]any{"goal": "ship", "notes": "none"})
	b.node.SkipWhen, b.node.Artifact = "true", &plan.Artifact{Type: "t"}
	b.node.Wraps = &plan.Wraps{Run: "true"}
	d := b.inspect()
	if !d.Skip || d.Artifact == nil {
		t.Fatalf("%+v", d)
	}
	a := testkit.Must(artifact.Load(b.settler.Dir, *d.Artifact))
	testkit.Equal(t, map[string]any{"goal": "ship", "notes": "none"}, a.Data)
}

// The feedback of a failure is bounded for any output, and does not end within a character.
func TestFeedbackIsBounded(t *testing.T) {
	text := joinParts([]string{"", strings.Repeat("ä", maxFeedback), "the end"})
	if len(text) > maxFeedback || !strings.HasSuffix(text, "ä…\n") {
		t.Errorf("%d bytes, which end in %q", len(text), text[len(text)-8:])
	}
	if joinParts([]string{"", ""}) != "" {
		t.Error("nothing to say is said")
	}
}
