package dialect

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// silent are the values that say nothing.
var silent = schema{"anyOf": []any{schema{"type": "null"}, schema{"type": "string", "pattern": `^\n*$`}}}

// said are the maps in which one of the keys has a value.
func said(keys ...string) schema {
	var all []schema
	for _, key := range keys {
		all = append(all, schema{"required": []string{key}, "properties": schema{key: schema{"not": silent}}})
	}
	return anyOf(all...)
}

// without are the maps in which none of the keys has a value.
func without(keys ...string) schema {
	properties := schema{}
	for _, key := range keys {
		properties[key] = schema{"enum": []any{nil, ""}}
	}
	return schema{"properties": properties}
}

// member are the maps whose member is such.
func member(key string, is schema) schema {
	return schema{"required": []string{key}, "properties": schema{key: is}}
}

// isMap are the maps whose member is a map.
func isMap(key string) schema { return member(key, schema{"type": "object"}) }

// worded are the maps whose member is a word.
func worded(key, word string) schema {
	return member(key, schema{"type": "string", "pattern": "^" + word + `\n*$`})
}

// onlyKeys are the maps that have no other keys, beside the author's own.
func onlyKeys(keys ...string) schema {
	properties := schema{}
	for _, key := range keys {
		properties[key] = true
	}
	return schema{"properties": properties, "patternProperties": schema{"^x-": true}, "additionalProperties": false}
}

// runsHolds are the maps in which runs holds such a value.
func runsHolds(v Value) schema {
	return schema{"properties": schema{"runs": v.schema(position{})}}
}

func not(s schema) schema { return schema{"not": s} }

// anyOf and allOf leave out what is nil.
func anyOf(of ...schema) schema { return joined("anyOf", of) }
func allOf(of ...schema) schema { return joined("allOf", of) }

func joined(word string, of []schema) schema {
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
