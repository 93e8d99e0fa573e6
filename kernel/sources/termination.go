package sources

import (
	"maps"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Termination is the termination of a node or of its stage.
type Termination struct {
	Values map[string]any   // as written; nil if absent
	TypeAt dialect.Location // location of the type, if set
}

// readTermination reads the first of three forms: termination, runs as a map, or completion with consensus and
// min_iterations.
func readTermination(m dialect.Map) Termination {
	inner, ok := m.MapAt("termination")
	if runs := m.Get("runs"); !ok && runs.Node != nil && runs.Kind == yamldoc.Map {
		inner, ok = m.Nested(runs.Node, "runs"), true
	}
	if !ok {
		return readCompletion(m)
	}
	t := Termination{Values: map[string]any{}}
	name, at := inner.Text("type")
	t.TypeAt = inner.Location(at)
	inner.Decode(&dialect.Termination, &struct{}{}) // reports the faults of the counts
	for _, e := range inner.Node.Entries {
		if e.Value.Kind != yamldoc.Null {
			t.Values[e.Key] = e.Value.Any()
		}
	}
	if delete(t.Values, "type"); name != "" {
		t.Values["type"] = name
	}
	return t
}

// WarnUnread warns of keys for the termination that [ReadSettings] does not read: other keys replace them, or the key
// that they belong to is missing. owner is the map's name in messages.
func WarnUnread(m dialect.Map, owner string) {
	place, runs := "termination:", m.Get("runs")
	isMap := runs.Node != nil && runs.Kind == yamldoc.Map
	switch {
	case m.Has("termination"):
		if owner += " with termination"; isMap {
			m.Warnf(runs.Pos, yamldoc.CodeNoEffect, "write them under termination:", "the keys of runs have no effect on %s", owner)
		}
	case isMap:
		owner, place = owner+" with a termination as runs", "runs:"
	case !m.Has("completion"):
		owner += " without completion"
	default:
		return
	}
	m.WarnIgnored([]string{"completion"}, owner, "remove it, or write type: under "+place)
	m.WarnIgnored([]string{"consensus", "min_iterations"}, owner, "write it under "+place)
}

// readCompletion reads the old form: completion with consensus and min_iterations.
func readCompletion(m dialect.Map) Termination {
	var completion struct {
		Completion string `json:"completion"`
	}
	m.Decode(&dialect.Node, &completion, "completion")
	strategy, ok := dialect.CompletionType(completion.Completion)
	if !ok {
		return Termination{}
	}
	t := Termination{Values: map[string]any{"type": strategy}, TypeAt: m.Location(m.Get("completion"))}
	var counts map[string]int
	m.Decode(&dialect.Node, &counts, "consensus", "min_iterations")
	for key, n := range counts {
		t.Values[key] = n
	}
	return t
}

// RunCount is the number of iterations of a node.
type RunCount struct {
	Count int  // 0 for no usable number
	isMap bool // runs is a termination, under its old name
}

// ReadRuns reads the key runs, which is a number or numeric text. The default is 1. Other text is ignored with a
// warning, as in the Bash engine: the node then has no maximum of its own.
func ReadRuns(m dialect.Map) RunCount {
	v := m.Get("runs")
	switch {
	case v.Node == nil:
		return RunCount{Count: 1}
	case v.Kind == yamldoc.Map:
		return RunCount{isMap: true}
	case v.Kind == yamldoc.Text:
		if _, ok := dialect.ParseNumber(v.Node); !ok {
			m.Warnf(v.Pos, yamldoc.CodeNoEffect, "write a number", "runs %q is not a number and is ignored", v.Source)
			return RunCount{}
		}
	}
	n, _ := m.Count("runs")
	return RunCount{Count: n}
}

// MergeTermination merges the terminations of stage and node; values of the node win. An explicit max wins over
// iterations, which wins over runs. runs as a map gives no maximum.
func MergeTermination(stage, node Termination, r RunCount) plan.Termination {
	t := deepMerge(stage.Values, node.Values)
	iterations, hasIterations := t["iterations"]
	delete(t, "iterations")
	if _, explicit := t["max"]; !explicit && !r.isMap {
		switch {
		case hasIterations:
			t["max"] = wholeNumber(iterations)
		case r.Count > 0:
			t["max"] = r.Count
		}
	}
	if _, named := t["type"]; !named {
		t["type"] = plan.TypeFixed
	}
	return t
}

// wholeNumber converts numeric text to a number. The value is already checked.
func wholeNumber(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	n, _ := dialect.ParseNumber(&yamldoc.Node{Kind: yamldoc.Text, Source: text})
	return int(n)
}

// deepMerge returns a new map with the values of both. over wins; nested maps are merged.
func deepMerge(base, over map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(over))
	maps.Copy(merged, base)
	for key, v := range over {
		inner, isMap := v.(map[string]any)
		if below, both := merged[key].(map[string]any); isMap && both {
			v = deepMerge(below, inner)
		}
		merged[key] = v
	}
	return merged
}
