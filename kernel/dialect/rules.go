package dialect

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

// anyOf and allOf skip nil schemas; they return nil for none.
func anyOf(of ...schema) schema { return combine("anyOf", of) }
func allOf(of ...schema) schema { return combine("allOf", of) }

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
