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

// Facts are the measurements of a check, with the names that the check action gives them.
type Facts struct {
	Type     string         `json:"type"`
	Passed   bool           `json:"passed"`
	Reason   string         `json:"reason"`
	ExitCode *int           `json:"exit_code"`
	Counts   map[string]int `json:"counts"`
	// Failed and PassedTests are names of tests, nil for a check of another type.
	Failed      []string `json:"failed"`
	PassedTests []string `json:"passed_tests"`
	Output      string   `json:"output"` // the end of a command's output
	// Evidence is the evidence of a check with test_first.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Delivery are the values of a check of a delivery, by their names; nil for other checks.
	Delivery map[string]any `json:"delivery,omitempty"`
	// Skipped reports that the plan skips the check. All its facts are then null.
	Skipped bool `json:"-"`
}

// Evidence is the measurement of a check with test_first in the workspace. Paths are below the project.
type Evidence struct {
	Snapshot string   `json:"snapshot"`          // of the workspace
	Code     string   `json:"code,omitempty"`    // of a cheat, "" for none
	Changed  []string `json:"changed,omitempty"` // all files that differ from the snapshot before the work
	Tests    []string `json:"tests,omitempty"`   // those of Changed that are tests
}

// fact returns the changed files, all of them or those that are no tests; or the tests, each as an object with its path.
func (e *Evidence) fact(name string) (any, bool) {
	if e == nil {
		return nil, false
	}
	switch name {
	case "changed":
		return anyList(e.Changed), true
	case "changed_code":
		return anyList(slices.DeleteFunc(slices.Clone(e.Changed), func(name string) bool { return slices.Contains(e.Tests, name) })), true
	default:
		tests := make([]any, len(e.Tests))
		for i, name := range e.Tests {
			tests[i] = map[string]any{"path": name}
		}
		return tests, true
	}
}

// ReadFacts decodes facts from JSON.
func ReadFacts(raw []byte) (Facts, error) {
	var f Facts
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("read the facts of a check: %w", err)
	}
	return f, nil
}

// typeTests is the type of checks that report tests by name.
const typeTests = "tests"

// fact returns the fact with a name. It returns false if there is no such fact.
func (f Facts) fact(name string) (any, bool) {
	tests := f.Type == typeTests
	if f.Skipped {
		return nil, true
	}
	switch name {
	case "passed":
		if tests {
			return anyList(f.PassedTests), true
		}
		return f.Passed, true
	case "failed":
		if tests {
			return anyList(f.Failed), true
		}
		return !f.Passed, true
	case "changed", "changed_tests", "changed_code":
		return f.Evidence.fact(name)
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
		v, known := f.Delivery[name]
		return v, known
	}
}

func anyList(list []string) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

// Fill sets the measured fields of the contract (artifact.kernel_fields) and returns a fault for each unmeasured one.
// It changes data.
func Fill(data map[string]any, contract *plan.Artifact, measured map[string]Facts) []schema.Fault {
	var faults []schema.Fault
	for _, field := range slices.Sorted(maps.Keys(contract.KernelFields)) {
		source := contract.KernelFields[field]
		v, known := checkFact(source, measured)
		if !known {
			faults = append(faults, schema.Fault{Path: "$." + field, Code: schema.CodeMissing, Message: "is " + source + ", which was not measured"})
			continue
		}
		setField(data, strings.Split(field, "."), v)
	}
	return faults
}

// Carry copies the carried fields of the contract (artifact.carry) from a node's input if data lacks them. It changes
// data. A name with dots is a path.
func Carry(data, input map[string]any, contract *plan.Artifact) {
	for _, field := range contract.Carry {
		v, ok := Lookup(input, field)
		if _, own := Lookup(data, field); ok && !own {
			setField(data, strings.Split(field, "."), v)
		}
	}
}

// checkFact returns the value of "checks.<id>.<name>".
func checkFact(source string, measured map[string]Facts) (any, bool) {
	parts := strings.Split(source, ".")
	if len(parts) < 3 || parts[0] != "checks" {
		return nil, false
	}
	last := len(parts) - 1
	f, known := measured[strings.Join(parts[1:last], ".")] // an id may have dots
	if !known {
		return nil, false
	}
	return f.fact(parts[last])
}

// setField sets a field, and replaces values on its path that are not objects.
func setField(data map[string]any, at []string, v any) {
	if len(at) == 1 {
		data[at[0]] = v
		return
	}
	inner, ok := data[at[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		data[at[0]] = inner
	}
	setField(inner, at[1:], v)
}

// Field returns the value of a field by name or by path with dots, nil if there is none.
func Field(data map[string]any, path string) any {
	v, _ := Lookup(data, path)
	return v
}

// Lookup is like [Field] and distinguishes a null field from a missing one. A path takes precedence over a field
// whose name contains the dots, because an agent could add such a field next to a measured value.
func Lookup(data map[string]any, path string) (v any, ok bool) {
	v = data
	for part := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		if v, ok = m[part]; !ok {
			v, ok = data[path]
			return v, ok
		}
	}
	return v, true
}

// Texts returns a list of strings, or one string as a list; false for anything else.
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
