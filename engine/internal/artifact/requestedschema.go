package artifact

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// RequestedSchema returns the contract's schema for the agent, nil without a schema. Measured fields are optional and
// may hold anything; carried fields are optional.
func RequestedSchema(contract *plan.Artifact) json.RawMessage {
	if len(contract.Schema) == 0 || len(contract.KernelFields)+len(contract.Carry) == 0 {
		return contract.Schema
	}
	var schema map[string]any
	if json.Unmarshal(contract.Schema, &schema) != nil { // the schema is true or false
		return contract.Schema
	}
	for _, field := range slices.Sorted(maps.Keys(contract.KernelFields)) {
		relaxField(schema, strings.Split(field, "."))
	}
	for _, field := range contract.Carry {
		dropRequired(schema, field)
	}
	raw, err := json.Marshal(schema)
	if err != nil { // it was decoded from JSON
		return contract.Schema
	}
	return raw
}

// relaxField makes the field at a path optional and accepts any value in it.
func relaxField(schema map[string]any, at []string) {
	properties, _ := schema["properties"].(map[string]any)
	inner, _ := properties[at[0]].(map[string]any)
	if len(at) > 1 {
		if inner != nil {
			relaxField(inner, at[1:])
		}
		if required, _ := inner["required"].([]any); len(required) > 0 {
			return // the agent makes the other fields, so the object stays required
		}
	} else if properties[at[0]] != nil {
		properties[at[0]] = true
	}
	dropRequired(schema, at[0])
}

// dropRequired makes a field optional.
func dropRequired(schema map[string]any, field string) {
	required, _ := schema["required"].([]any)
	if kept := slices.DeleteFunc(slices.Clone(required), func(name any) bool { return name == field }); len(kept) > 0 {
		schema["required"] = kept
	} else {
		delete(schema, "required")
	}
}
