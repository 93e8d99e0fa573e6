package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// artifactPipeline is a pipeline whose second node reads the artifact of the first.
const artifactPipeline = `name: two
defaults: {provider: agent}
nodes:
  - id: spec
    prompt: specify
    artifact: {type: specification, version: "1.2", from: result, schema: {type: object, required: [spec_id], properties: {spec_id: {type: string}}}}
  - id: red
    prompt: test
    artifact: {type: test_suite, from: result}
`

// artifactAgent makes an artifact for each node and records the node's context.json.
type artifactAgent struct {
	context map[string]map[string]any // context.json by node
}

func (w artifactAgent) work(_ context.Context, req sdk.ExecuteRequest) error {
	text, err := os.ReadFile(req.Paths.Context)
	var content map[string]any
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	w.context[req.Node] = content
	return errors.Join(err, os.WriteFile(req.Paths.Artifact, []byte(`{"spec_id":"made"}`), 0o644))
}

// writeFiles writes files of a project by name.
func writeFiles(t *testing.T, root string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		name = filepath.Join(root, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)))
	}
}

func readText(t *testing.T, elements ...string) string {
	t.Helper()
	return string(testkit.Must(os.ReadFile(filepath.Join(elements...))))
}

// U150, U112: a run of nodes with artifacts has an input artifact, and accepts supplied artifacts of nodes.
func TestRunInput(t *testing.T) {
	root := project(t, strings.ReplaceAll(artifactPipeline, ", from: result", ""))
	writeFiles(t, root, map[string]string{"specs/S.yaml": "spec_id: S-1\ntitle: given\n", "notes.json": `{"_artifact_meta":{"version":"9.9"},"areas":["api"]}`})
	w := artifactAgent{map[string]map[string]any{}}
	e := newEngine(t, root, agent{work: w.work})
	result, err := e.Run(t.Context(), engine.RunOptions{
		Pipeline: "two", Session: "demo", Context: "make it", Start: "red", Fields: map[string]string{"delivery_mode": "files"},
		Artifacts: map[string]string{"spec": "specs/S.yaml", "notes": filepath.Join(root, "notes.json")},
	})
	if err != nil || !result.Success {
		t.Fatalf("%+v, %v", result, err)
	}
	dir := filepath.Join(root, ".claude/pipeline-runs/demo")
	want := regexp.MustCompile(`(?s)\A_artifact_meta:
  artifact_type: request
  created_at: "[^"]+Z"
  stage_name: \$input
  version: "1\.0"
delivery_mode: files
notes:
  areas:
    - api
original_request: make it
request_id: REQ-[0-9]{14}-[0-9]{4}
_metadata:
  .*pipeline_id: PL-`)
	if got := readText(t, dir, "artifacts/input.yaml"); !want.MatchString(got) {
		t.Error(got)
	}
	given := readText(t, dir, "artifacts/00-spec.v0.yaml")
	if !regexp.MustCompile(`(?s)artifact_type: specification\n.*stage_name: spec\n  version: "1\.2"\nspec_id: S-1\ntitle: given\n`).MatchString(given) || given != readText(t, dir, "artifacts/00-spec.yaml") {
		t.Error(given)
	}
	if w.context["spec"] != nil {
		t.Error("the node whose artifact was given worked")
	}
	wantInputs := map[string]any{"$input": dir + "/artifacts/input.yaml", "spec": dir + "/artifacts/00-spec.v0.yaml"}
	inputs, _ := w.context["red"]["inputs"].(map[string]any)
	if diff := cmp.Diff(wantInputs, inputs["artifacts"]); diff != "" || w.context["red"]["input_artifact"] != wantInputs["spec"] {
		t.Errorf("%s, works from %v", diff, w.context["red"]["input_artifact"])
	}
	var started event.SessionStartData
	_ = e.Tail(t.Context(), "demo", -1, false, func(ev event.Event) error {
		if ev.Type == event.SessionStart {
			started, err = event.Decode[event.SessionStartData](ev)
		}
		return err
	})
	if started.Input == nil || started.Input.Path != "artifacts/input.yaml" || started.SuppliedArtifacts["0"].Path != "artifacts/00-spec.v0.yaml" || len(started.SuppliedArtifacts) != 1 {
		t.Errorf("%+v", started)
	}
}

// A run with invalid input does not start: no session exists, and no provider is called.
func TestInvalidRunInput(t *testing.T) {
	root := project(t, artifactPipeline)
	writeFiles(t, root, map[string]string{
		"good.yaml": "spec_id: S-1\n", "broken.yaml": "a: [\n", "list.json": "[1]", "text.yaml": "just text\n", "wrong.yaml": "spec_id: 3\n", "empty.yaml": "{}",
		"two.yaml": "_artifact_meta: {version: \"2.0\"}\nspec_id: S-1\n", "none.yaml": "_artifact_meta: {version: new}\nspec_id: S-1\n",
		"dir/a.yaml":  "a: 1\n",
		"large.yaml":  "a: 1\n",
		"secret.yaml": "spec_id: [sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789]\n",
	})
	testkit.OK(t, os.Truncate(filepath.Join(root, "large.yaml"), 64<<20+1))
	asked := false
	e := newEngine(t, root, agent{work: func(context.Context, sdk.ExecuteRequest) error { asked = true; return nil }})
	for name, tt := range map[string]struct {
		artifacts, fields map[string]string
		want              string
	}{
		"no file":         {artifacts: map[string]string{"spec": "absent.yaml"}, want: "the artifact spec: " + root + "/absent.yaml: the file cannot be read: no such file or directory"},
		"a folder":        {artifacts: map[string]string{"x": "dir"}, want: "the artifact x: " + root + "/dir: not a regular file"},
		"a device":        {artifacts: map[string]string{"x": "/dev/zero"}, want: "the artifact x: /dev/zero: not a regular file"},
		"too large":       {artifacts: map[string]string{"x": "large.yaml"}, want: "larger than 67108864 bytes"},
		"no YAML":         {artifacts: map[string]string{"x": "broken.yaml"}, want: "cannot be used: $: VAL-004: is neither YAML nor JSON that can be read: line "},
		"a list":          {artifacts: map[string]string{"x": "list.json"}, want: "$: VAL-002: must be an object, not a list"},
		"text":            {artifacts: map[string]string{"spec": "text.yaml"}, want: "$: VAL-002: must be an object, not text"},
		"does not fit":    {artifacts: map[string]string{"spec": "wrong.yaml"}, want: "$.spec_id: VAL-002: must be string, not 3"},
		"lacks a field":   {artifacts: map[string]string{"spec": "empty.yaml"}, want: "$.spec_id: VAL-001: is missing"},
		"another version": {artifacts: map[string]string{"spec": "two.yaml"}, want: `$._artifact_meta.version: VAL-003: must be of the major version of 1.2, which is the contract's, not "2.0"`},
		"no version":      {artifacts: map[string]string{"spec": "none.yaml"}, want: `must be of the major version of 1.2, which is the contract's, not "new"`},
		"a made field":    {artifacts: map[string]string{"request_id": "good.yaml"}, want: `the artifact "request_id" is reserved: every run sets it`},
		"a bad name":      {artifacts: map[string]string{"a.b": "good.yaml"}, want: `the artifact "a.b" is neither a node of the pipeline nor a valid field name`},
		"an envelope":     {artifacts: map[string]string{"_metadata": "good.yaml"}, want: `the artifact "_metadata" is neither`},
		"a made one":      {fields: map[string]string{"original_request": "x"}, want: `the field "original_request" is reserved: every run sets it`},
		"a bad field":     {fields: map[string]string{"": "x"}, want: `the field "" is neither`},
		"twice":           {fields: map[string]string{"mode": "x"}, artifacts: map[string]string{"mode": "good.yaml"}, want: `"mode" is given twice: as a field and as the artifact good.yaml`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "refused", Artifacts: tt.artifacts, Fields: tt.fields})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, engine.ErrOptions) {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(filepath.Join(root, ".claude/pipeline-runs/refused")); !errors.Is(err, os.ErrNotExist) || asked {
				t.Errorf("the run began: %v", err)
			}
		})
	}
	if _, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "refused", Artifacts: map[string]string{"spec": "secret.yaml"}}); err == nil || strings.Contains(err.Error(), "sk-ant") {
		t.Errorf("%v", err)
	}
}

// The input of a run is stored without secrets.
func TestRunInputSecrets(t *testing.T) {
	root := project(t, strings.ReplaceAll(artifactPipeline, ", from: result", ""))
	const key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	writeFiles(t, root, map[string]string{"spec.yaml": "spec_id: a\nnotes: {keys: [" + key + "]}\n"})
	w := artifactAgent{map[string]map[string]any{}}
	testkit.Must(newEngine(t, root, agent{work: w.work}).Run(t.Context(), engine.RunOptions{
		Pipeline: "two", Session: "demo", Context: "use " + key, Fields: map[string]string{"mode": key}, Artifacts: map[string]string{"spec": "spec.yaml"}, Start: "red",
	}))
	dir := filepath.Join(root, ".claude/pipeline-runs/demo/artifacts")
	for _, name := range []string{"input.yaml", "00-spec.v0.yaml", "00-spec.yaml"} {
		if text := readText(t, dir, name); strings.Contains(text, key) || !strings.Contains(text, "[REDACTED") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A compiled plan accepts artifacts and fields, but no options that would change the plan.
func TestRunInputWithPlan(t *testing.T) {
	root := project(t, strings.ReplaceAll(artifactPipeline, ", from: result", ""))
	writeFiles(t, root, map[string]string{"spec.yaml": "spec_id: a\n"})
	w := artifactAgent{map[string]map[string]any{}}
	e := newEngine(t, root, agent{work: w.work})
	p := testkit.Must(e.Compile(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Start: "red"}))
	for name, o := range map[string]engine.RunOptions{
		"start": {Start: "red"}, "exit": {ExitAfter: "red"}, "supervised": {Supervised: true}, "iterate": {Iterate: []string{"red"}}, "timeout": {Timeout: 1},
	} {
		o.Plan = p
		if _, err := e.Run(t.Context(), o); !errors.Is(err, engine.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := e.Run(t.Context(), engine.RunOptions{Plan: p, Artifacts: map[string]string{"spec": "absent"}}); err == nil {
		t.Error("a file that is not there")
	}
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Plan: p, Artifacts: map[string]string{"spec": "spec.yaml"}, Fields: map[string]string{"delivery_mode": "pr"}}))
	dir := filepath.Join(root, ".claude/pipeline-runs/demo/artifacts")
	if text := readText(t, dir, "input.yaml"); !strings.Contains(text, "delivery_mode: pr") || w.context["red"]["input_artifact"] != dir+"/00-spec.v0.yaml" {
		t.Errorf("%s %v", text, w.context["red"]["input_artifact"])
	}
}
