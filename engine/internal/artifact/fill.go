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

// Facts are what a check measured, in the words of its action.
type Facts struct {
	Type     string         `json:"type"`
	Passed   bool           `json:"passed"`
	Reason   string         `json:"reason"`
	ExitCode *int           `json:"exit_code"`
	Counts   map[string]int `json:"counts"`
	// Failed and PassedTests are names of tests, nil where the check is about something else.
	Failed      []string `json:"failed"`
	PassedTests []string `json:"passed_tests"`
	Output      string   `json:"output"` // the end of what a command printed
	// LeftOut: the plan leaves the check out, so that all its facts are null.
	LeftOut bool `json:"-"`
}

// ReadFacts reads them from their JSON.
func ReadFacts(raw []byte) (Facts, error) {
	var f Facts
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("read what a check measured: %w", err)
	}
	return f, nil
}

// typeTests is the type of checks that know tests by their names.
const typeTests = "tests"

// value is the fact with a name, false if there is none.
func (f Facts) value(name string) (any, bool) {
	tests := f.Type == typeTests
	if f.LeftOut {
		return nil, true
	}
	switch name {
	case "passed":
		if tests {
			return names(f.PassedTests), true
		}
		return f.Passed, true
	case "failed":
		if tests {
			return names(f.Failed), true
		}
		return !f.Passed, true
	case "ok":
		return f.Passed, true
	case "output":
		return f.Output, true
	case "reason":
		return f.Reason, true
	case "exit_code":
		if f.ExitCode == nil {
			return nil, false
		}
		return *f.ExitCode, true
	case "counts":
		counts := make(map[string]any, len(f.Counts))
		for key, n := range f.Counts {
			counts[key] = n
		}
		return counts, f.Counts != nil
	case "total":
		total := 0
		for _, n := range f.Counts {
			total += n
		}
		return total, f.Counts != nil
	default:
		return nil, false
	}
}

func names(list []string) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

// Fill puts measured values over what is written in the fields that the contract keeps for them
// (artifact.kernel_fields), and returns a fault for each that was not measured. data is changed.
func Fill(data map[string]any, contract *plan.Artifact, measured map[string]Facts) []schema.Fault {
	var faults []schema.Fault
	for _, field := range slices.Sorted(maps.Keys(contract.KernelFields)) {
		source := contract.KernelFields[field]
		v, known := fact(source, measured)
		if !known {
			faults = append(faults, schema.Fault{Path: "$." + field, Code: schema.CodeMissing, Message: "is " + source + ", which was not measured"})
			continue
		}
		set(data, strings.Split(field, "."), v)
	}
	return faults
}

// Carry copies the fields that the contract carries over (artifact.carry) from a node's input, where data lacks them.
// data is changed. A name with dots is a place.
func Carry(data, input map[string]any, contract *plan.Artifact) {
	for _, field := range contract.Carry {
		v, there := Lookup(input, field)
		if _, own := Lookup(data, field); there && !own {
			set(data, strings.Split(field, "."), v)
		}
	}
}

// fact is the value of "checks.<id>.<name>".
func fact(source string, measured map[string]Facts) (any, bool) {
	parts := strings.Split(source, ".")
	if len(parts) < 3 || parts[0] != "checks" {
		return nil, false
	}
	last := len(parts) - 1
	f, known := measured[strings.Join(parts[1:last], ".")] // an id may have dots
	if !known {
		return nil, false
	}
	return f.value(parts[last])
}

// set sets a field; what stands in its way is replaced.
func set(data map[string]any, at []string, v any) {
	if len(at) == 1 {
		data[at[0]] = v
		return
	}
	inner, ok := data[at[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		data[at[0]] = inner
	}
	set(inner, at[1:], v)
}

// Field is the value of a field of data, by its name or its path with dots, nil if there is none.
func Field(data map[string]any, path string) any {
	v, _ := Lookup(data, path)
	return v
}

// Lookup is [Field] that tells a field that is null from one that is not there. What is at the place counts before a
// field that is itself called so: an agent could put that beside what was measured.
func Lookup(data map[string]any, path string) (v any, there bool) {
	v = data
	for part := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		if v, there = m[part]; !there {
			v, there = data[path]
			return v, there
		}
	}
	return v, true
}

// Texts is a list of texts, or one text; false for anything else.
func Texts(v any) ([]string, bool) {
	switch v := v.(type) {
	case string:
		return []string{v}, true
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			text, ok := v[i].(string)
			if !ok {
				return nil, false
			}
			texts[i] = text
		}
		return texts, true
	default:
		return nil, false
	}
}
