package author

import (
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// wrapsFacts say what a node wraps and what it hands in and out.
func wrapsFacts(w *plan.Wraps) []fact {
	if w == nil {
		return nil
	}
	var facts []fact
	if w.Run != "" {
		facts = append(facts, fact{"Command", inline(w.Run)})
	}
	return append(facts, fact{"Hands in", handsIn(w)}, fact{"Hands out", handsOut(w)})
}

// handsIn is "who from name, lang else a default".
func handsIn(w *plan.Wraps) string {
	var parts []string
	if len(w.Inputs) == 0 {
		parts = append(parts, "all fields of the input artifact")
	}
	for _, theirs := range slices.Sorted(maps.Keys(w.Inputs)) {
		parts = append(parts, theirs+" from "+w.Inputs[theirs])
	}
	if len(w.Defaults) > 0 {
		parts = append(parts, "by default "+strings.Join(slices.Sorted(maps.Keys(w.Defaults)), ", "))
	}
	return strings.Join(parts, ", ")
}

// handsOut is "text as greeting, record".
func handsOut(w *plan.Wraps) string {
	if len(w.Outputs) == 0 {
		return "all that it prints or comes to, over the input artifact"
	}
	var parts []string
	for _, theirs := range slices.Sorted(maps.Keys(w.Outputs)) {
		if ours := w.Outputs[theirs]; ours != "" && ours != theirs {
			theirs += " as " + ours
		}
		parts = append(parts, theirs)
	}
	return strings.Join(parts, ", ") + ", over the input artifact"
}

// inline is a command in one line.
func inline(command string) string { return strings.Join(strings.Fields(command), " ") }
