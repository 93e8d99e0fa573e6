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

// Decode checks the map against its table and stores the values in target: a pointer to a map, or to a struct with
// the keys as JSON names. With keys, it reads these keys alone and allows all others. It leaves out values with
// faults, values of the types Any, Size and OneOf, and lists and maps of these or of nested maps. It panics if the
// table and the target disagree.
func (m Map) Decode(table *Object, target any, keys ...string) {
	if len(keys) == 0 {
		m.CheckKeys(table)
	}
	data, err := json.Marshal(decoder{m}.values(table, keys))
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

// decoder reads the values of a map by their types in its table, and reports those with faults.
type decoder struct{ Map }

// values returns the valid values of the keys; of all keys for nil.
func (d decoder) values(table *Object, keys []string) map[string]any {
	values := map[string]any{}
	for _, f := range table.Fields {
		if len(keys) > 0 && !slices.Contains(keys, f.Name) || !f.Value.isDecoded() {
			continue
		}
		v := d.Get(f.Name)
		if f.Required && d.isMissing(v, f.Value) {
			d.reportMissing(f)
		}
		if v.Node == nil {
			continue
		}
		if value, ok := d.value(v, f); ok {
			values[f.Name] = value
		}
	}
	return values
}

// isDecoded reports whether [Map.Decode] reads the value.
func (v Value) isDecoded() bool {
	switch v.Type {
	case Any, Size, OneOf:
		return false
	case List, MapOf:
		return v.Item.Type != Nested && v.Item.isDecoded()
	default:
		return true
	}
}

func (d decoder) isMissing(v Member, t Value) bool {
	return v.Node == nil || (t.Type == Text || t.Type == String) && v.isBlank() || t.NonEmpty && v.Kind == yamldoc.Map && len(v.Entries) == 0
}

func (d decoder) reportMissing(f Field) {
	hint := "add " + f.Name + ":"
	if f.Hint != "" {
		hint = f.Hint
	} else if f.Value.Type == Choice {
		hint = DidYouMean("", f.Value.Choices)
	}
	d.Errorf(d.Node.Pos, yamldoc.CodeMissing, hint, "%s has no %s", d.Label, f.Name)
}

// value returns a present value. ok is false for a reported fault, a blank choice, and a list or map without members.
func (d decoder) value(v Member, f Field) (value any, ok bool) {
	switch f.Value.Type {
	case Number, Integer:
		return d.number(v, f)
	case Boolean:
		if v.Kind != yamldoc.Bool {
			d.WrongType(v, "true or false")
			return nil, false
		}
		return v.Source == "true", true
	case List:
		if v.Kind != yamldoc.List {
			d.WrongType(v, "a list")
			return nil, false
		}
		items := d.items(v, f)
		return items, len(items) > 0
	case MapOf:
		return d.members(v, f)
	case Nested:
		if v.Kind != yamldoc.Map {
			d.WrongType(v, "a map")
			return nil, false
		}
		inner := decoder{d.Nested(v.Node, v.Key)}
		inner.CheckKeys(f.Value.Object)
		return inner.values(f.Value.Object, nil), true
	default:
		return d.text(v, f)
	}
}

// text returns a text or choice.
func (d decoder) text(v Member, f Field) (value any, ok bool) {
	t := f.Value
	if v.Kind == yamldoc.List || v.Kind == yamldoc.Map || v.Kind == yamldoc.Null || v.Kind != yamldoc.Text && t.Type == String {
		d.WrongType(v, "text")
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
		d.Errorf(v.Pos, yamldoc.CodeChoice, DidYouMean(text, t.Choices), "unknown %s %q", f.Name, text)
		return nil, false
	case t.Mismatch != "" && !regexp.MustCompile("^(?:"+t.Pattern+")$").MatchString(text):
		d.Errorf(v.Pos, yamldoc.CodeChoice, f.Hint, "%q %s", text, t.Mismatch)
		return nil, false
	}
	return text, true
}

// number returns a number within its bounds; as an int for an Integer.
func (d decoder) number(v Member, f Field) (value any, ok bool) {
	t := f.Value
	n, ok := ParseNumber(v.Node)
	hint := f.Hint
	if t.Above != nil && hint == "" {
		hint = "leave the key out for " + cmp.Or(f.Default, "no limit")
	}
	fault := func(format string, bound any) {
		d.Errorf(v.Pos, yamldoc.CodeRange, hint, "%s must be "+format+", not %s", v.Key, bound, v.Source)
	}
	switch {
	case !ok:
		d.WrongType(v, "a number")
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
func (d decoder) items(v Member, f Field) []any {
	item := Field{Name: f.Name, Value: *f.Value.Item, Hint: f.Hint}
	items := make([]any, 0, len(v.Items))
	for _, n := range v.Items {
		value, ok := d.value(Member{n, cmp.Or(f.Value.Noun, "an item") + " in " + v.Key}, item)
		switch {
		case !ok:
		case f.Value.Unique && slices.Contains(items, value):
			d.Warnf(n.Pos, yamldoc.CodeNoEffect, "remove it", "%s %q is repeated in %s", strings.TrimPrefix(f.Value.Noun, "a "), value, v.Key)
		default:
			items = append(items, value)
		}
	}
	return items
}

// members returns the valid members of a map with the author's keys.
func (d decoder) members(v Member, f Field) (values map[string]any, ok bool) {
	if v.Kind != yamldoc.Map {
		d.WrongType(v, "a map")
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
				d.Errorf(e.KeyPos, yamldoc.CodeMissing, "write the "+member.Name, "%q has no %s", e.Key, member.Name)
			} else if isText {
				values[e.Key] = ""
			}
		default:
			if value, ok := d.value(entry, member); ok {
				values[e.Key] = value
			}
		}
	}
	return values, len(values) > 0
}

// CheckKeys reports keys that the table does not define, as a warning or an error. Keys with the prefix x- are the
// author's own, unless the table refuses them too.
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

// Count returns a whole number of at least 1, which may be written as text. Member.Node is nil if the key is absent
// or its value is invalid.
func (m Map) Count(key string) (int, Member) {
	v := m.Get(key)
	if v.Node == nil {
		return 0, v
	}
	value, ok := decoder{m}.number(v, Field{Name: key, Value: count()})
	if n, isInt := value.(int); ok && isInt {
		return n, v
	}
	return 0, Member{}
}
