package artifact

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
)

// Faults holds data against the schema and the verdict of its contract. The error is about the schema.
func Faults(data map[string]any, contract *plan.Artifact) ([]schema.Fault, error) {
	var faults []schema.Fault
	if len(contract.Schema) > 0 {
		s, err := schema.Compile(contract.Schema)
		if err != nil {
			return nil, fmt.Errorf("artifact.schema: %w", err)
		}
		faults = s.Validate(data)
	}
	if _, fault := VerdictOf(data, contract.Verdict); fault != nil && !named(faults, fault.Path) {
		faults = append(faults, *fault)
	}
	return faults, nil
}

// named reports whether a fault is about the place.
func named(faults []schema.Fault, path string) bool {
	return slices.ContainsFunc(faults, func(f schema.Fault) bool { return f.Path == path })
}

// VerdictOf is the outcome that a field of the artifact stands for, "" where the contract has no verdict. A value
// that stands for none is a fault.
func VerdictOf(data map[string]any, v *plan.Verdict) (plan.Outcome, *schema.Fault) {
	if v == nil {
		return "", nil
	}
	path, value := "$."+v.Field, Field(data, v.Field)
	if value == nil {
		return "", &schema.Fault{Path: path, Code: schema.CodeMissing, Message: "is missing: it says the outcome"}
	}
	word, isText := value.(string)
	if !isText {
		raw, err := json.Marshal(value)
		if err != nil { // it was read from YAML or JSON
			panic(fmt.Sprintf("render a verdict: %v", err))
		}
		word = string(raw)
	}
	if o, known := v.Map[word]; known {
		return o, nil
	}
	words := strings.Join(slices.Sorted(maps.Keys(v.Map)), ", ")
	return "", &schema.Fault{Path: path, Code: schema.CodeEnum, Message: fmt.Sprintf("must be one of %s, not %.100q", words, word)}
}
