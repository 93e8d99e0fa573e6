package dialect

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// empty are the values that say nothing.
var empty = schema{"anyOf": []any{schema{"type": "null"}, schema{"type": "string", "pattern": `^\n*$`}}}

// present are the maps in which one of the keys has a value.
func present(keys ...string) schema {
	var all []schema
	for _, key := range keys {
		all = append(all, schema{"required": []string{key}, "properties": schema{key: schema{"not": empty}}})
	}
	return anyOf(all...)
}

// absent are the maps in which none of the keys has a value.
func absent(keys ...string) schema {
	properties := schema{}
	for _, key := range keys {
		properties[key] = schema{"enum": []any{nil, ""}}
	}
	return schema{"properties": properties}
}

// withMember are the maps whose member is such.
func withMember(key string, is schema) schema {
	return schema{"required": []string{key}, "properties": schema{key: is}}
}

// memberIsObject are the maps whose member is a map.
func memberIsObject(key string) schema { return withMember(key, schema{"type": "object"}) }

// withText are the maps whose member is a word.
func withText(key, word string) schema {
	return withMember(key, schema{"type": "string", "pattern": "^" + word + `\n*$`})
}

// onlyKeys are the maps that have no other keys, beside the author's own.
func onlyKeys(keys ...string) schema {
	properties := schema{}
	for _, key := range keys {
		properties[key] = true
	}
	return schema{"properties": properties, "patternProperties": schema{"^x-": true}, "additionalProperties": false}
}

// runsMatch are the maps in which runs holds such a value.
func runsMatch(v Value) schema {
	return schema{"properties": schema{"runs": v.schema(position{})}}
}

func not(s schema) schema { return schema{"not": s} }

// anyOf and allOf leave out what is nil.
func anyOf(of ...schema) schema { return combine("anyOf", of) }
func allOf(of ...schema) schema { return combine("allOf", of) }

func combine(word string, of []schema) schema {
	var all []schema
	for _, s := range of {
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
		return schema{word: all}
	}
}
