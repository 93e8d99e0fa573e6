package artifact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// userRequest is the source of an input that is the run's request where the artifact has no such field.
const userRequest = "user_request"

// Inputs are what is handed to what a node wraps: fields of its effective input by the names that this has for them, all
// of them where nothing is mapped, and the defaults for what is not there. request is that of the run. The map is new,
// the values in it are not.
func Inputs(w *plan.Wraps, input map[string]any, request string) (map[string]any, error) {
	mapped := map[string]any{}
	if len(w.Inputs) == 0 {
		maps.Copy(mapped, input)
	}
	for theirs, ours := range w.Inputs {
		if v, there := Lookup(input, ours); there {
			mapped[theirs] = v
		} else if ours == userRequest && request != "" {
			mapped[theirs] = request
		}
	}
	for theirs, raw := range w.Defaults {
		if _, there := mapped[theirs]; there {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("wraps.defaults.%s: %w", theirs, err)
		}
		mapped[theirs] = v
	}
	return mapped, nil
}

// Outputs is the artifact of a node that wraps something: the fields of the artifact that it was given, and over them what
// was handed out, by the names that the node has for it, all of it where nothing is mapped. The map is new, the values
// in it are not.
func Outputs(w *plan.Wraps, given, outputs map[string]any) map[string]any {
	mapped := map[string]any{}
	maps.Copy(mapped, given)
	if len(w.Outputs) == 0 {
		maps.Copy(mapped, outputs)
	}
	for theirs, ours := range w.Outputs {
		if v, there := Lookup(outputs, theirs); there {
			mapped[cmp.Or(ours, theirs)] = v
		}
	}
	return mapped
}

// Unfit is the error about what a node wraps, which nobody can be asked for again, and that has faults; what names it.
func InvalidError(what string, faults []schema.Fault) error {
	all := lines(faults)
	e := failure.New(failure.ResultInvalid, "%s is not what the contract says: %s", what, strings.ReplaceAll(strings.TrimRight(all, "\n"), "\n", "; "))
	return &Bad{faults, e.WithDetail(all).WithHint("artifact.schema of the node says what is expected, wraps.output_mapping what becomes of each output")}
}
