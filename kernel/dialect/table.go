package dialect

import (
	"fmt"
	"slices"
)

// Map is one kind of map. It is not changed and is safe for concurrent use.
type Object struct {
	// Name is what the schema and the reference call it; no two are the same.
	Name string
	// Doc says in a sentence what it is for.
	Doc string
	// Keys are in the order in which people look for them.
	Keys []Field
	// Unknown is what becomes of every other key.
	Unknown UnknownKeys
	// Strict: a text is written as text and a number as a number, and an empty text is one. Elsewhere a number
	// may be written as text, a number and a boolean count as texts where one is wanted, and an empty text is no value.
	Strict bool
	// rules are what the keys demand of each other, as schemas.
	rules []schema
}

// Other is what becomes of a key that a map does not know.
type UnknownKeys int

// Keys that begin with x- are the author's own, where others are ignored or refused.
const (
	Ignored    UnknownKeys = iota // with a warning
	Refused                       // x- is the author's
	RefusedAll                    // x- as well
	PassedOn                      // to the plugin that the map is for
)

// Key is one key of a map.
type Field struct {
	Name string
	// Doc says in a line what it is for.
	Doc string
	// Value is what its value may be.
	Value Value
	// Default is what holds without the key, in words; "" where that needs no saying.
	Default string
	// Required: there must be a value.
	Required bool
	// After is the key of the same meaning that goes before this one, "" for none.
	After string
	// condition is the schema of the maps whose key is read, nil for all: elsewhere anything may stand there.
	condition schema
}

// Type is the sort of a value.
type Type int

// The types. Strings differ from texts: nothing else counts as one.
const (
	Any Type = iota
	Text
	String
	Choice
	Number
	Integer
	Boolean
	Size
	List   // of Item
	MapOf  // a map of the author's names to Item
	Nested // a Map
	OneOf  // one of several
	False  // false alone
)

// Value is what a key may hold.
type Value struct {
	Type Type
	// Choices are all that a value of type Words may be.
	Choices []string
	// Least and Most bound a number; Above is a bound that it must be above. Nil: there is none.
	Least, Above, Most *float64
	// Pattern is what a text must match from end to end, "" for anything.
	Pattern string
	// Item is of the members of List and Named. Filled: there must be one. Of Named, Loose: a member may be without a
	// value; NoBlank: and none without a name.
	Item                              *Value
	NonEmpty, PassThrough, NoEmptyKey bool
	// Exact: of Words, not even a line end may stand behind them.
	Exact bool
	// NotNull: wherever the key stands, there must be a value.
	NotNull bool
	// Object is of type Inner.
	Object *Object
	// Forms are of type Forms.
	Forms []Value
	// About is what the reference calls it, "" for what its type is called.
	About string
}

// Names are the names of the keys.
func (m *Object) Names() []string {
	names := make([]string, len(m.Keys))
	for i, k := range m.Keys {
		names[i] = k.Name
	}
	return names
}

// Field is the key of that name. It panics if there is none: names of keys are written in the code.
func (m *Object) Field(name string) Field {
	i := slices.IndexFunc(m.Keys, func(k Field) bool { return k.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("dialect: %s has no key %s", m.Name, name))
	}
	return m.Keys[i]
}

// Words are the words of a key, those of its members for a list or map.
func (m *Object) Words(name string) []string { return m.Field(name).Value.choices() }

func (v Value) choices() []string {
	switch v.Type {
	case Choice:
		return slices.Clone(v.Choices)
	case List, MapOf:
		return v.Item.choices()
	case OneOf:
		var all []string
		for _, f := range v.Forms {
			for _, w := range f.choices() {
				if !slices.Contains(all, w) {
					all = append(all, w)
				}
			}
		}
		return all
	default:
		return nil
	}
}

// Bounds of whole numbers: above the upper one a plan means "for ever", which has other words.
const (
	minCount = 1
	maxCount = 1_000_000_000
)

func text() Value { return Value{Type: Text} }

// textMatching is a text of a form.
func textMatching(pattern, about string) Value {
	return Value{Type: Text, Pattern: pattern, About: about}
}

func choice[W ~string](words ...W) Value {
	v := Value{Type: Choice}
	for _, w := range words {
		v.Choices = append(v.Choices, string(w))
	}
	return v
}

// exactChoice are words that are compared as they stand.
func exactChoice[W ~string](words ...W) Value {
	v := choice(words...)
	v.Exact = true
	return v
}

func boolean() Value { return Value{Type: Boolean} }

func count() Value { return integer(minCount, maxCount) }

// integer is a whole number.
func integer(from, to float64) Value { return Value{Type: Integer, Least: &from, Most: &to} }

func positive() Value { return Value{Type: Number, Above: bound(0)} }

func bound(n float64) *float64 { return &n }

func seconds() Value {
	v := positive()
	v.About = "seconds, more than 0"
	return v
}

func listOf(item Value) Value { return Value{Type: List, Item: &item} }

// mapOf is a map whose keys are the author's; members without a value are left out.
func mapOf(item Value) Value { return Value{Type: MapOf, Item: &item, PassThrough: true} }

func nested(m *Object) Value { return Value{Type: Nested, Object: m} }

func formsOf(forms ...Value) Value { return Value{Type: OneOf, Forms: forms} }

func anything() Value { return Value{Type: Any} }

// fieldPattern is the name of a field, or names with dots between them.
const fieldPattern = `([^.]+\.)*[^.]*[^.\n]`

func fieldName() Value { return textMatching(fieldPattern, "a field, as `goal` or `overview.goals`") }

func fieldNames() Value {
	v := listOf(fieldName())
	v.About = "list of fields"
	return v
}

// nonEmptyPattern is a text that says something.
const nonEmptyPattern = `(.|\n)*[^\n](.|\n)*`

// nonEmpty is a list or map that must hold something.
func nonEmpty(v Value) Value {
	v.NonEmpty = true
	return v
}

func notNull(v Value) Value {
	v.NotNull = true
	return v
}
