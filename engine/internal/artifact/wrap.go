package artifact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// userRequest is the source name of an input that falls back to the run's request.
const userRequest = "user_request"

// Inputs returns the input of a node's wrapped target. It has the fields of the node's effective input under their
// mapped names, all fields if there is no mapping, and defaults for missing ones. request is the text with which the
// run was started. The map is new; its values are shared with input.
func Inputs(w *plan.Wraps, input map[string]any, request string) (map[string]any, error) {
	mapped := map[string]any{}
	if len(w.Inputs) == 0 {
		maps.Copy(mapped, input)
	}
	for target, source := range w.Inputs {
		if v, ok := Lookup(input, source); ok {
			mapped[target] = v
		} else if source == userRequest && request != "" {
			mapped[target] = request
		}
	}
	for target, raw := range w.Defaults {
		if _, ok := mapped[target]; ok {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("wraps.defaults.%s: %w", target, err)
		}
		mapped[target] = v
	}
	return mapped, nil
}

// Outputs returns the artifact of a node that wraps something: the fields of its input artifact, overwritten by the
// outputs under their mapped names, or by all outputs without a mapping. The map is new; its values are shared with
// input and outputs.
func Outputs(w *plan.Wraps, input, outputs map[string]any) map[string]any {
	mapped := map[string]any{}
	maps.Copy(mapped, input)
	if len(w.Outputs) == 0 {
		maps.Copy(mapped, outputs)
	}
	for source, target := range w.Outputs {
		if v, ok := Lookup(outputs, source); ok {
			mapped[cmp.Or(target, source)] = v
		}
	}
	return mapped
}
