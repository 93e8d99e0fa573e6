package artifact

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// A file that says of itself what it is must be what the contract wants; one without an envelope may be.
func TestGivenOfAnotherKind(t *testing.T) {
	spec := &plan.Artifact{Type: "specification", Version: "1.0"}
	for _, tt := range []struct {
		name, text string
		contract   *plan.Artifact
		path       string
	}{
		{"no envelope", "a: 1", spec, ""},
		{"the same", "_artifact_meta: {artifact_type: specification, version: '1.2'}\na: 1", spec, ""},
		{"another", "_artifact_meta: {artifact_type: analysis_result, version: '1.0'}\na: 1", spec, "$._artifact_meta.artifact_type"},
		{"another version", "_artifact_meta: {artifact_type: specification, version: '2.0'}\na: 1", spec, "$._artifact_meta.version"},
		{"a contract without a type", "_artifact_meta: {artifact_type: analysis_result}\na: 1", &plan.Artifact{}, ""},
		{"a field of the start", "_artifact_meta: {artifact_type: analysis_result}\na: 1", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, faults, err := Validate([]byte(tt.text), tt.contract)
			if err != nil {
				t.Fatal(err)
			}
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
