package compare

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// silent lists the keys of a plan that do not affect the work: the time and the bytes of its compilation, the machine, the
// paths of nodes, and the inputs, which are compared separately.
var silent = map[string]bool{
	"compiled_at": true, "version": true, "dependencies": true, "session": true, "source.sha256": true, "path": true,
	"pipeline.overrides.context": true, "pipeline.overrides.inputs": true, "pipeline.overrides.artifacts": true,
}

// keys collects the keys that differ.
type keys struct {
	sides     [2]*Snapshot
	differing []Key
}

// plans compares the plans of two sessions, node by node and key by key.
func plans(a, b *Snapshot) []Key {
	k := keys{sides: [2]*Snapshot{a, b}}
	k.value("", "", generic(a.Inspection.Plan), generic(b.Inspection.Plan))
	return k.differing
}

// generic returns a value as decoded JSON, nil if it cannot be encoded.
func generic(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var plain any
	if json.Unmarshal(text, &plain) != nil {
		return nil
	}
	return plain
}

// value compares two values of a key of a node, "" for the pipeline.
func (k *keys) value(node, key string, a, b any) {
	if silent[strings.TrimPrefix(key, "plan.")] {
		return
	}
	if key == "pipeline.overrides" { // its members may be silent
		a, b = orEmpty(a), orEmpty(b)
	}
	a, b = screen.EachText(a, k.sides[0].normalize), screen.EachText(b, k.sides[1].normalize)
	if reflect.DeepEqual(a, b) {
		return
	}
	aMap, isMap := a.(map[string]any)
	bMap, areMaps := b.(map[string]any)
	aList, isList := a.([]any)
	bList, areLists := b.([]any)
	last := key[strings.LastIndexByte(key, '.')+1:]
	switch {
	case last == "nodes" || last == "stages":
		k.nodes(node, aList, bList)
	case isMap && areMaps:
		for _, member := range union(aMap, bMap) {
			k.value(node, strings.TrimPrefix(key+"."+member, "."), aMap[member], bMap[member])
		}
	case isList && areLists && len(aList) == len(bList):
		for i := range aList {
			k.value(node, key+"."+strconv.Itoa(i), aList[i], bList[i])
		}
	default:
		k.differing = append(k.differing, Key{node, key, [2]any{a, b}})
	}
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

// nodes compares two lists of nodes by their ids.
func (k *keys) nodes(outer string, a, b []any) {
	aNodes, aOrder := byID(a)
	bNodes, bOrder := byID(b)
	for _, id := range slices.Concat(aOrder, slices.DeleteFunc(slices.Clone(bOrder), func(id string) bool { return aNodes[id] != nil })) {
		label := strings.TrimPrefix(outer+"/"+id, "/")
		switch {
		case aNodes[id] == nil:
			k.differing = append(k.differing, Key{Node: label, Values: [2]any{nil, bNodes[id]["kind"]}})
		case bNodes[id] == nil:
			k.differing = append(k.differing, Key{Node: label, Values: [2]any{aNodes[id]["kind"], nil}})
		default:
			k.value(label, "", aNodes[id], bNodes[id])
		}
	}
	aOrder = slices.DeleteFunc(aOrder, func(id string) bool { return bNodes[id] == nil })
	bOrder = slices.DeleteFunc(bOrder, func(id string) bool { return aNodes[id] == nil })
	if !slices.Equal(aOrder, bOrder) {
		k.differing = append(k.differing, Key{outer, "order of the nodes", [2]any{strings.Join(aOrder, ", "), strings.Join(bOrder, ", ")}})
	}
}

func byID(list []any) (nodes map[string]map[string]any, order []string) {
	nodes = map[string]map[string]any{}
	for _, v := range list {
		n, _ := v.(map[string]any)
		id, _ := n["id"].(string)
		if n != nil {
			nodes[id], order = n, append(order, id)
		}
	}
	return nodes, order
}

func union(a, b map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// inputs compares the inputs of the sessions.
func inputs(a, b *Snapshot) []Key {
	k := keys{sides: [2]*Snapshot{a, b}}
	aGiven, bGiven := a.inputs(), b.inputs()
	for _, name := range union(aGiven, bGiven) {
		k.value("", name, aGiven[name], bGiven[name])
	}
	return k.differing
}

// inputs returns the inputs of a session by name: context, inputs and artifacts as written, the resolved files, and the
// fields of the input artifact.
func (s *Snapshot) inputs() map[string]any {
	all := map[string]any{}
	for i := range s.Inspection.Artifacts {
		a := &s.Inspection.Artifacts[i]
		if a.Node != plan.RequiresStart || a.Path != "" {
			continue
		}
		content, err := s.Artifact(*a)
		if err != nil {
			all["request"] = err.Error()
			continue
		}
		for name, value := range content.Data {
			if name != "request_id" && !strings.HasPrefix(name, "_") {
				all["request."+name] = generic(value)
			}
		}
	}
	p := s.Inspection.Plan
	put := func(name string, value any, present bool) {
		if present {
			all[name] = generic(value)
		}
	}
	put("files", p.Session.Inputs, len(p.Session.Inputs) > 0)
	if o := p.Pipeline.Overrides; o != nil {
		put("context", o.Context, o.Context != "")
		put("inputs", o.Inputs, len(o.Inputs) > 0)
		put("artifacts", o.Artifacts, len(o.Artifacts) > 0)
	}
	return all
}
