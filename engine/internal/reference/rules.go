package reference

import (
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// empty matches the values that count as absent.
var empty = schema{"anyOf": []any{schema{"type": "null"}, schema{"type": "string", "pattern": `^\n*$`}}}

// present matches the maps in which one of the keys has a value.
func present(keys ...string) schema {
	var all []schema
	for _, key := range keys {
		all = append(all, schema{"required": []string{key}, "properties": schema{key: schema{"not": empty}}})
	}
	return anyOf(all...)
}

// absent matches the maps in which none of the keys has a value.
func absent(keys ...string) schema {
	properties := schema{}
	for _, key := range keys {
		properties[key] = schema{"enum": []any{nil, ""}}
	}
	return schema{"properties": properties}
}

// withMember matches the maps whose member matches a schema.
func withMember(key string, s schema) schema {
	return schema{"required": []string{key}, "properties": schema{key: s}}
}

// memberIsObject matches the maps whose member is a map.
func memberIsObject(key string) schema { return withMember(key, schema{"type": "object"}) }

// withText matches the maps whose member is a text that matches a pattern.
func withText(key, pattern string) schema {
	return withMember(key, schema{"type": "string", "pattern": "^" + pattern + `\n*$`})
}

// onlyKeys matches the maps without other keys, except those with the prefix x-.
func onlyKeys(keys ...string) schema {
	properties := schema{}
	for _, key := range keys {
		properties[key] = true
	}
	return schema{"properties": properties, "patternProperties": schema{"^x-": true}, "additionalProperties": false}
}

func not(s schema) schema { return schema{"not": s} }

// anyOf and allOf skip nil schemas; they return nil if no schema is left.
func anyOf(all ...schema) schema { return combine("anyOf", all) }
func allOf(all ...schema) schema { return combine("allOf", all) }

func combine(keyword string, schemas []schema) schema {
	var all []schema
	for _, s := range schemas {
		if s != nil {
			all = append(all, s)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	default:
		return schema{keyword: all}
	}
}

// runsMatch matches the maps whose key runs is absent or has a value that v describes.
func runsMatch(v dialect.Value) schema {
	return schema{"properties": schema{"runs": valueSchema(v, position{})}}
}

var (
	count           = dialect.Termination.Field("max").Value
	termination     = dialect.Value{Type: dialect.Nested, Object: &dialect.Termination}
	withoutNodes    = schema{"not": schema{"required": []any{"nodes"}}}
	keysNotInBlocks = []string{"provider", "parallel", "pipeline", "transitions", "steps", "wraps", "requires", "skip_when"}
)

// keyRules returns the schemas of the rules between the keys of a map, which package compile checks.
func keyRules(m *dialect.Object) []schema {
	switch m {
	case &dialect.Pipeline:
		return []schema{anyOf(present("nodes"), allOf(present("stages"), withoutNodes))}
	case &dialect.Node:
		return append([]schema{
			present("id", "name"),
			anyOf(present("stage", "loop", "prompt"), present("parallel"), present("pipeline"), present("wraps")),
			{"if": present("parallel"), "then": absent("stage", "loop", "prompt", "pipeline", "artifact", "checks", "steps")},
			{"if": present("pipeline"), "then": allOf(absent("stage", "loop", "prompt", "parallel", "artifact", "checks", "steps"), runsMatch(count))},
			{"if": allOf(memberIsObject("wraps"), withMember("wraps", present("pipeline"))), "then": runsMatch(count)},
		}, runsRules()...)
	case &dialect.BlockStage:
		return append([]schema{
			present("id", "name"), present("stage", "loop", "prompt"), absent(keysNotInBlocks...),
		}, runsRules()...)
	case &dialect.Stage:
		return []schema{
			{"if": allOf(memberIsObject("runs"), not(memberIsObject("termination"))), "then": runsMatch(termination)},
			{"if": memberIsObject("wraps"), "then": schema{"properties": schema{"wraps": present("pipeline", "run")}}},
		}
	case &dialect.Artifact:
		return []schema{{"minProperties": 1}}
	case &dialect.Check:
		return []schema{not(allOf(present("run"), present("command"))), not(allOf(present("test_first"), present("expect")))}
	case &dialect.Wraps:
		return []schema{not(allOf(schema{"type": "object"}, present("pipeline"), present("run")))}
	case &dialect.Hook:
		return []schema{
			{"if": withText("action", plan.ActionPause), "then": onlyKeys(dialect.KernelActionKeys(plan.ActionPause)...)},
			{"if": withText("action", plan.ActionConfirm), "then": onlyKeys(dialect.KernelActionKeys(plan.ActionConfirm)...)},
		}
	default:
		return nil
	}
}

// runsRules returns the rules for runs, which may also hold a termination under its old name.
func runsRules() []schema {
	countOrText := dialect.Value{Type: dialect.OneOf, Forms: []dialect.Value{count, {Type: dialect.String}}}
	return []schema{
		{
			"if":   allOf(memberIsObject("runs"), not(memberIsObject("termination"))),
			"then": runsMatch(termination),
			"else": schema{"if": not(memberIsObject("runs")), "then": runsMatch(countOrText)},
		},
	}
}

// readCondition returns the schema of the maps in which a key is read, nil for all maps. Other maps allow any value.
func readCondition(m *dialect.Object, key string) schema {
	withoutTermination := not(anyOf(memberIsObject("termination"), memberIsObject("runs")))
	switch {
	case m == &dialect.Pipeline && key == "stages":
		return withoutNodes
	case m == &dialect.Termination:
		return nil
	case key == "completion":
		return withoutTermination
	case key == "consensus", key == "min_iterations":
		return allOf(withoutTermination, present("completion"))
	default:
		return nil
	}
}
