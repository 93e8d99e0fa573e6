package compile

import (
	"maps"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// termination is the termination of a node or of its stage.
type termination struct {
	values map[string]any // as written; nil if absent
	typeAt location       // location of the type, if set
}

// termination reads the first of termination, runs as a map, and completion with its two companions.
func (m object) termination() termination {
	inner, ok := m.objectAt("termination")
	if runs := m.get("runs"); !ok && runs.Node != nil && runs.Kind == yamldoc.Map {
		inner, ok = m.nested(runs.Node, "runs"), true
	}
	if !ok {
		return m.completion()
	}
	t := termination{values: map[string]any{}}
	name, at := inner.text("type")
	t.typeAt = inner.location(at)
	for _, key := range []string{"max", "iterations", "min_iterations", "consensus"} {
		inner.count(key) // reports its faults
	}
	for _, e := range inner.node.Entries {
		if e.Value.Kind != yamldoc.Null {
			t.values[e.Key] = e.Value.Any()
		}
	}
	if delete(t.values, "type"); name != "" {
		t.values["type"] = name
	}
	return t
}

// completion reads the keys of version 2.
func (m object) completion() termination {
	name, at := m.text("completion")
	if at.Node == nil {
		return termination{}
	}
	strategy, ok := dialect.CompletionType(name)
	if !ok {
		m.Errorf(at.Pos, yamldoc.CodeChoice, didYouMean(name, dialect.Node.Choices("completion")), "unknown completion %q", name)
		return termination{}
	}
	t := termination{values: map[string]any{"type": strategy}, typeAt: m.location(at)}
	for _, key := range []string{"consensus", "min_iterations"} {
		if n, at := m.count(key); at.Node != nil {
			t.values[key] = n
		}
	}
	return t
}

// runCount is the number of iterations of a node.
type runCount struct {
	count int  // 0 for no usable number
	isMap bool // runs is a termination, under its old name
}

// runs reads a number or numeric text; default 1. Other text is ignored with a warning, as in the Bash engine: the
// node then has no maximum of its own.
func (m object) runs() runCount {
	v := m.get("runs")
	switch {
	case v.Node == nil:
		return runCount{count: 1}
	case v.Kind == yamldoc.Map:
		return runCount{isMap: true}
	case v.Kind == yamldoc.Text:
		if _, ok := parseNumber(v.Node); !ok {
			m.Warnf(v.Pos, yamldoc.CodeNoEffect, "write a number", "runs %q is not a number and is ignored", v.Source)
			return runCount{}
		}
	}
	n, _ := m.count("runs")
	return runCount{count: n}
}

// mergeTermination merges the terminations of stage and node; the node's wins. An explicit max wins over
// iterations, which wins over runs. runs as a map gives no maximum.
func mergeTermination(stage, node termination, r runCount) plan.Termination {
	t := deepMerge(stage.values, node.values)
	iterations, hasIterations := t["iterations"]
	delete(t, "iterations")
	if _, explicit := t["max"]; !explicit && !r.isMap {
		switch {
		case hasIterations:
			t["max"] = wholeNumber(iterations)
		case r.count > 0:
			t["max"] = r.count
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
	n, _ := parseNumber(&yamldoc.Node{Kind: yamldoc.Text, Source: text})
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
