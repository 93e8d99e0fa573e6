package reference

import (
	"regexp"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
)

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// position is the position of a value: notNull forbids null, nonEmpty forbids an empty text.
type position struct{ notNull, nonEmpty bool }

// types returns the types of a value at the position.
func (p position) types(types ...string) any {
	switch {
	case !p.notNull:
		return append(types, "null")
	case len(types) == 1:
		return types[0]
	default:
		return types
	}
}

// pattern returns the anchored pattern of a text at the position.
func (p position) pattern(pattern string) string {
	if !p.notNull {
		pattern = "(?:" + pattern + ")?"
	}
	return "^(?:" + pattern + ")$"
}

// numericPattern matches a number written as text.
const numericPattern = `[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?0[xX][0-9a-fA-F_.]+[pP][+-]?[0-9]+`

// sizePattern matches a number of bytes with an optional unit, or line ends alone, which count as no text.
const sizePattern = `\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?([bB]|[kKmMgGtT]([iI]?[bB])?)?\s*|\n*`

// valueSchema returns the value's schema at a position.
func valueSchema(v dialect.Value, p position) schema {
	switch v.Type {
	case dialect.Any:
		return schema{}
	case dialect.Text:
		return textSchema(v, p)
	case dialect.String:
		return stringSchema(v, p)
	case dialect.Choice:
		return choiceSchema(v, p)
	case dialect.Number, dialect.Integer, dialect.Size:
		return numberSchema(v, p)
	case dialect.Boolean:
		return allowEmptyText(schema{"type": p.types("boolean")}, p)
	case dialect.List:
		return listSchema(v, p)
	case dialect.MapOf:
		return mapSchema(v, p)
	case dialect.Nested:
		return allowEmptyText(schema{"type": p.types("object"), "$ref": "#/$defs/" + v.Object.Name}, p)
	default:
		return formsSchema(v, p)
	}
}

// allowEmptyText also allows an empty text if the value may be absent.
func allowEmptyText(s schema, p position) schema {
	if types, ok := s["type"].([]string); ok && !p.notNull {
		s["type"], s["maxLength"] = append(types, "string"), 0
	}
	return s
}

func textSchema(v dialect.Value, p position) schema {
	s := schema{"type": p.types("string", "number", "boolean")}
	switch {
	case v.Pattern != "" && p.notNull:
		s["pattern"] = p.pattern("(?:" + v.Pattern + `)\n*`)
	case v.Pattern != "":
		s["pattern"] = "^(?:(?:" + v.Pattern + `)?\n*)$`
	case p.nonEmpty:
		s["pattern"] = `[^\n]`
	}
	return s
}

func stringSchema(v dialect.Value, p position) schema {
	s := schema{"type": p.types("string")}
	if v.Pattern != "" {
		s["pattern"] = p.pattern(v.Pattern)
	}
	return s
}

func choiceSchema(v dialect.Value, p position) schema {
	var enum []any
	for _, w := range v.Choices {
		enum = append(enum, w)
	}
	if !p.notNull {
		enum = append(enum, nil, "")
	}
	if v.Exact {
		return schema{"enum": enum}
	}
	quoted := make([]string, len(v.Choices))
	for i, w := range v.Choices {
		quoted[i] = regexp.QuoteMeta(w)
	}
	withNewlines := schema{"type": "string", "pattern": "^(?:" + strings.Join(quoted, "|") + `)?\n+$`}
	return schema{"anyOf": []any{schema{"enum": enum}, withNewlines}}
}

// numberSchema returns the schema of a number, or of a text that is a number.
func numberSchema(v dialect.Value, p position) schema {
	numberType, pattern := "number", numericPattern
	switch v.Type {
	case dialect.Integer:
		numberType = "integer"
	case dialect.Size:
		pattern = sizePattern
	}
	s := schema{"type": p.types(numberType, "string"), "pattern": p.pattern(pattern)}
	for keyword, bound := range map[string]*float64{"minimum": v.Least, "exclusiveMinimum": v.Above, "maximum": v.Most} {
		if bound != nil {
			s[keyword] = *bound
		}
	}
	return s
}

func listSchema(v dialect.Value, p position) schema {
	s := allowEmptyText(schema{"type": p.types("array"), "items": valueSchema(*v.Item, position{notNull: true})}, p)
	if v.NonEmpty {
		s["minItems"] = 1
	}
	return s
}

func mapSchema(v dialect.Value, p position) schema {
	s := allowEmptyText(schema{"type": p.types("object"), "additionalProperties": valueSchema(*v.Item, position{notNull: !v.PassThrough})}, p)
	if v.NonEmpty {
		s["minProperties"] = 1
	}
	if v.NoEmptyKey {
		s["propertyNames"] = schema{"minLength": 1}
	}
	return s
}

func formsSchema(v dialect.Value, p position) schema {
	var all []any
	for _, f := range v.Forms {
		all = append(all, valueSchema(f, position{notNull: true, nonEmpty: p.nonEmpty}))
	}
	if !p.notNull {
		all = append(all, schema{"enum": []any{nil, ""}})
	}
	return schema{"anyOf": all}
}
