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

// Faults returns the violations of the contract's schema and verdict by data. The error is about an invalid schema.
func Faults(data map[string]any, contract *plan.Artifact) ([]schema.Fault, error) {
	var faults []schema.Fault
	if len(contract.Schema) > 0 {
		s, err := schema.Compile(contract.Schema)
		if err != nil {
			return nil, fmt.Errorf("artifact.schema: %w", err)
		}
		faults = s.Validate(data)
	}
	_, fault := VerdictOutcome(data, contract.Verdict)
	if fault != nil && !slices.ContainsFunc(faults, func(f schema.Fault) bool { return f.Path == fault.Path }) {
		faults = append(faults, *fault)
	}
	return faults, nil
}

// VerdictOutcome returns the outcome to which the value of the verdict field is mapped, "" without a verdict. A
// missing or unmapped value is a fault.
func VerdictOutcome(data map[string]any, v *plan.Verdict) (plan.Outcome, *schema.Fault) {
	if v == nil {
		return "", nil
	}
	path, value := "$."+v.Field, Field(data, v.Field)
	if value == nil {
		return "", &schema.Fault{Path: path, Code: schema.CodeMissing, Message: "is missing: it determines the outcome"}
	}
	text, isText := value.(string)
	if !isText {
		raw, err := json.Marshal(value)
		if err != nil { // it was read from YAML or JSON
			panic(fmt.Sprintf("render a verdict: %v", err))
		}
		text = string(raw)
	}
	if o, known := v.Map[text]; known {
		return o, nil
	}
	choices := strings.Join(slices.Sorted(maps.Keys(v.Map)), ", ")
	return "", &schema.Fault{Path: path, Code: schema.CodeEnum, Message: fmt.Sprintf("must be one of %s, not %.100q", choices, text)}
}
