package artifact

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// FuzzParse parses any text as an artifact. A parsed artifact keeps its data and envelope when it is rendered, and
// [Validate] reads the same data.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"_artifact_meta: {artifact_type: specification, version: '1.2', stage_name: a, created_at: 2026-01-02T03:04:05Z}\nmetadata: {x: [1, 2.5]}\na: 1\n",
		`{"a": {"b": null}, "_artifact_meta": {"version": "2"}}`, "a: &x [1]\nb: *x\n", "version: 1\n", "_artifact_meta: 3", "_artifact_meta: {version: 0.1}", "- a", "", "a: !!binary aGk=",
	} {
		f.Add([]byte(seed))
	}
	contract := &plan.Artifact{Type: "specification", Version: "1.0", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Parse(text)
		given, faults, contractErr := Validate(text, nil)
		if contractErr != nil {
			t.Fatal(contractErr)
		}
		if err != nil {
			return
		}
		if len(faults) > 0 {
			t.Fatalf("an artifact that cannot be handed in: %v", faults)
		}
		if diff := cmp.Diff(numbers(t, a.Data), numbers(t, given)); diff != "" {
			t.Fatalf("kept and handed in differ:\n%s", diff)
		}
		if y := a.Meta.CreatedAt.Year(); y < 1 || y > 9999 || strings.ContainsRune(string(text), 0) {
			return // no such date can be written
		}
		a.Meta.CreatedAt = a.Meta.CreatedAt.UTC().Truncate(time.Second)
		kept, err := a.Render()
		if err != nil {
			t.Fatalf("a value cannot be stored: %v", err)
		}
		again, err := Parse(kept)
		if err != nil {
			t.Fatalf("a stored value cannot be read: %v\n%s", err, kept)
		}
		if diff := cmp.Diff(numbers(t, a.Data), numbers(t, again.Data)); diff != "" {
			t.Fatalf("the data changed:\n%s\n%s", diff, kept)
		}
		if diff := cmp.Diff(a.Meta, again.Meta); diff != "" {
			t.Fatalf("the envelope changed:\n%s\n%s", diff, kept)
		}
		data, faults, err := Validate(text, contract)
		testkit.OK(t, err)
		if wrong, err := Faults(data, contract); err == nil && len(wrong) > 0 && len(faults) == 0 {
			t.Fatalf("handed in against the contract: %v", wrong)
		}
	})
}

// FuzzReadFacts decodes any facts of a check: every fact that a contract may name can be encoded as JSON.
func FuzzReadFacts(f *testing.F) {
	f.Add([]byte(`{"type":"tests","passed":true,"counts":{"passed":3,"failed":0},"passed_tests":["a"],"failed":[],"exit_code":0,"output":"ok"}`))
	f.Add([]byte(`{"counts":{"a":9223372036854775807,"b":1}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := ReadFacts(text)
		if err != nil {
			return
		}
		for _, name := range []string{"passed", "failed", "ok", "output", "reason", "exit_code", "counts", "total", "counts.passed", "no such"} {
			v, known := facts.fact(name)
			if _, err := json.Marshal(v); err != nil || known && name == "no such" {
				t.Errorf("%s is %v, %t: %v", name, v, known, err)
			}
		}
	})
}
