package artifact

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Asked is the schema of what the agent itself is to make, nil without a schema: that of the contract, which demands
// nothing of the fields that are measured, and takes anything there, and not those that are carried over.
func RequestedSchema(contract *plan.Artifact) json.RawMessage {
	if len(contract.Schema) == 0 || len(contract.KernelFields)+len(contract.Carry) == 0 {
		return contract.Schema
	}
	var schema map[string]any
	if json.Unmarshal(contract.Schema, &schema) != nil { // true, or false
		return contract.Schema
	}
	for _, field := range slices.Sorted(maps.Keys(contract.KernelFields)) {
		spare(schema, strings.Split(field, "."))
	}
	for _, field := range contract.Carry {
		forgo(schema, field)
	}
	raw, err := json.Marshal(schema)
	if err != nil { // it came out of JSON
		return contract.Schema
	}
	return raw
}

// spare lets the field at a place be anything, or missing.
func spare(schema map[string]any, at []string) {
	properties, _ := schema["properties"].(map[string]any)
	inner, _ := properties[at[0]].(map[string]any)
	if len(at) > 1 {
		if inner != nil {
			spare(inner, at[1:])
		}
		if required, _ := inner["required"].([]any); len(required) > 0 {
			return // the agent makes the rest of it
		}
	} else if properties[at[0]] != nil {
		properties[at[0]] = true
	}
	forgo(schema, at[0])
}

// forgo takes a field out of those that have to be there.
func forgo(schema map[string]any, field string) {
	required, _ := schema["required"].([]any)
	if left := slices.DeleteFunc(slices.Clone(required), func(name any) bool { return name == field }); len(left) > 0 {
		schema["required"] = left
	} else {
		delete(schema, "required")
	}
}
