package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Decode checks the map against its table and stores the values in target, a pointer to a struct whose JSON names are
// the keys, or to a map. With keys, it reads these alone and allows all others. It leaves out values with faults, and
// values of the types Any, Size and OneOf, which the caller reads.
func (m Map) Decode(table *Object, target any, keys ...string) {
	if len(keys) == 0 {
		m.CheckKeys(table)
	}
	data, err := json.Marshal(m.values(table, keys))
	if err == nil {
		err = json.Unmarshal(data, target)
	}
	if err != nil {
		panic(fmt.Sprintf("dialect: decode %s: %v", table.Name, err)) // the table and the target disagree
	}
}

// DecodeAt decodes a nested map as [Map.Decode] does. It returns the map; ok is false, and target unchanged, if there
// is none.
func (m Map) DecodeAt(key string, table *Object, target any) (inner Map, ok bool) {
	if inner, ok = m.MapAt(key); ok {
		inner.Decode(table, target)
	}
	return inner, ok
}

// values returns the valid values of the keys; of all keys for nil.
func (m Map) values(table *Object, keys []string) map[string]any {
	values := map[string]any{}
	for _, f := range table.Fields {
		if len(keys) > 0 && !slices.Contains(keys, f.Name) || !f.Value.isDecoded() {
			continue
		}
		v := m.Get(f.Name)
		if f.Required && m.isMissing(v, f.Value) {
			m.reportMissing(f)
		}
		if v.Node == nil {
			continue
		}
		if value, ok := m.value(v, f); ok {
			values[f.Name] = value
		}
	}
	return values
}

// isDecoded reports whether [Map.Decode] reads the value.
func (v Value) isDecoded() bool {
	switch v.Type {
	case Any, Size, OneOf, False:
		return false
	case List, MapOf:
		return v.Item.Type != Nested && v.Item.isDecoded()
	default:
		return true
	}
}

func (m Map) isMissing(v Member, t Value) bool {
	return v.Node == nil || (t.Type == Text || t.Type == String) && v.isBlank() || t.NonEmpty && v.Kind == yamldoc.Map && len(v.Entries) == 0
}

func (m Map) reportMissing(f Field) {
	hint := "add " + f.Name + ":"
	if f.Hint != "" {
		hint = f.Hint
	} else if f.Value.Type == Choice {
		hint = DidYouMean("", f.Value.Choices)
	}
	m.Errorf(m.Node.Pos, yamldoc.CodeMissing, hint, "%s has no %s", m.Label, f.Name)
}

// value returns a value that is present. ok is false for a value with a fault, which is reported, and for blank text.
func (m Map) value(v Member, f Field) (value any, ok bool) {
	switch f.Value.Type {
	case Number, Integer:
		return m.number(v, f)
	case Boolean:
		if v.Kind != yamldoc.Bool {
			m.WrongType(v, "true or false")
			return nil, false
		}
		return v.Source == "true", true
	case List:
		if v.Kind != yamldoc.List {
			m.WrongType(v, "a list")
			return nil, false
		}
		items := m.items(v, f)
		return items, len(items) > 0
	case MapOf:
		return m.members(v, f)
	case Nested:
		if v.Kind != yamldoc.Map {
			m.WrongType(v, "a map")
			return nil, false
		}
		inner := m.Nested(v.Node, v.Key)
		inner.CheckKeys(f.Value.Object)
		return inner.values(f.Value.Object, nil), true
	default:
		return m.text(v, f)
	}
}

// text returns a text or choice.
func (m Map) text(v Member, f Field) (value any, ok bool) {
	t := f.Value
	if v.Kind == yamldoc.List || v.Kind == yamldoc.Map || v.Kind == yamldoc.Null || v.Kind != yamldoc.Text && t.Type == String {
		m.WrongType(v, "text")
		return nil, false
	}
	text := v.Source
	if t.Type != String && !t.Exact {
		text = TrimNewlines(text)
	}
	switch {
	case t.Type == Choice && text == "":
		return nil, false
	case t.Type == Choice && !slices.Contains(t.Choices, text):
		m.Errorf(v.Pos, yamldoc.CodeChoice, DidYouMean(text, t.Choices), "unknown %s %q", f.Name, text)
		return nil, false
	case t.Mismatch != "" && !regexp.MustCompile("^(?:"+t.Pattern+")$").MatchString(text):
		m.Errorf(v.Pos, yamldoc.CodeChoice, f.Hint, "%q %s", text, t.Mismatch)
		return nil, false
	}
	return text, true
}

// number returns a number within its bounds; as an int for an Integer.
func (m Map) number(v Member, f Field) (value any, ok bool) {
	t := f.Value
	n, ok := ParseNumber(v.Node)
	hint := f.Hint
	if t.Above != nil && hint == "" {
		hint = "leave the key out for " + cmp.Or(f.Default, "no limit")
	}
	fault := func(format string, bound any) {
		m.Errorf(v.Pos, yamldoc.CodeRange, hint, "%s must be "+format+", not %s", v.Key, bound, v.Source)
	}
	switch {
	case !ok:
		m.WrongType(v, "a number")
	case t.Above != nil && n <= *t.Above:
		fault("more than %v"+t.Unit, *t.Above)
	case t.Least != nil && n < *t.Least:
		fault("at least %v"+t.Unit, *t.Least)
	case t.Type == Integer && (n != math.Trunc(n) || n > MaxCount):
		hint = ""
		fault("a whole number up to %d", MaxCount)
	case t.Most != nil && n > *t.Most:
		fault("at most %v", *t.Most)
	case t.Type == Integer:
		return int(n), true
	default:
		return n, true
	}
	return nil, false
}

// items returns the valid items of a list.
func (m Map) items(v Member, f Field) []any {
	item := Field{Name: f.Name, Value: *f.Value.Item, Hint: f.Hint}
	items := make([]any, 0, len(v.Items))
	for _, n := range v.Items {
		value, ok := m.value(Member{n, cmp.Or(f.Value.Noun, "an item") + " in " + v.Key}, item)
		switch {
		case !ok:
		case f.Value.Unique && slices.Contains(items, value):
			m.Warnf(n.Pos, yamldoc.CodeNoEffect, "remove it", "%s %q is repeated in %s", strings.TrimPrefix(f.Value.Noun, "a "), value, v.Key)
		default:
			items = append(items, value)
		}
	}
	return items
}

// members returns the valid members of a map with the author's keys.
func (m Map) members(v Member, f Field) (values map[string]any, ok bool) {
	if v.Kind != yamldoc.Map {
		m.WrongType(v, "a map")
		return nil, false
	}
	member := Field{Name: cmp.Or(f.Value.Noun, "value"), Value: *f.Value.Item, Hint: f.Hint}
	isText := member.Value.Type == Text || member.Value.Type == Choice
	values = map[string]any{}
	for _, e := range v.Entries {
		entry := Member{e.Value, e.Key}
		switch {
		case entry.Kind == yamldoc.Null, entry.Kind == yamldoc.Text && entry.Source == "", isText && entry.isBlank():
			if !f.Value.PassThrough {
				m.Errorf(e.KeyPos, yamldoc.CodeMissing, "write the "+member.Name, "%q has no %s", e.Key, member.Name)
			} else if isText {
				values[e.Key] = ""
			}
		default:
			if value, ok := m.value(entry, member); ok {
				values[e.Key] = value
			}
		}
	}
	return values, len(values) > 0
}

// CheckKeys reports keys that the table does not define, as a warning or an error. Keys with the prefix x- are the
// author's own.
func (m Map) CheckKeys(table *Object) {
	known := table.Names()
	for _, e := range m.Node.Entries {
		if slices.Contains(known, e.Key) || strings.HasPrefix(e.Key, "x-") && table.Unknown != RefusedAll {
			continue
		}
		switch {
		case table.Unknown == PassedOn:
		case table.Unknown == Ignored:
			m.warnUnknownKey(e, known)
		case table.KeyNoun != "":
			m.Errorf(e.KeyPos, yamldoc.CodeChoice, DidYouMean(e.Key, known), "unknown %s %q", table.KeyNoun, e.Key)
		default:
			m.Errorf(e.KeyPos, yamldoc.CodeUnknownKey, DidYouMean(e.Key, known), "unknown key %q in %s", e.Key, m.Label)
		}
	}
}

// ParseNumber returns the value of a number, or of text that is a number.
func ParseNumber(n *yamldoc.Node) (float64, bool) {
	switch v := n.Any().(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	default:
		return 0, false
	}
}

// Count returns a whole number of at least 1, which may be written as text. Node of the member is nil if there is none.
func (m Map) Count(key string) (int, Member) {
	v := m.Get(key)
	if v.Node == nil {
		return 0, v
	}
	value, ok := m.number(v, Field{Name: key, Value: count()})
	if n, isInt := value.(int); ok && isInt {
		return n, v
	}
	return 0, Member{}
}
