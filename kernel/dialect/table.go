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
	// Other is what becomes of every other key.
	Other UnknownKeys
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
	Handed                        // to the plugin that the map is for
)

// Key is one key of a map.
type Field struct {
	Name string
	// Doc says in a line what it is for.
	Doc string
	// Holds is what its value may be.
	Holds Value
	// Default is what holds without the key, in words; "" where that needs no saying.
	Default string
	// Required: there must be a value.
	Required bool
	// After is the key of the same meaning that goes before this one, "" for none.
	After string
	// only is the schema of the maps whose key is read, nil for all: elsewhere anything may stand there.
	only schema
}

// Type is the sort of a value.
type Type int

// The types. Strings differ from texts: nothing else counts as one.
const (
	Any Type = iota
	Text
	String
	Words
	Number
	Whole
	Flag
	Size
	List  // of Item
	Named // a map of the author's names to Item
	Inner // a Map
	Forms // one of several
	False // false alone
)

// Value is what a key may hold.
type Value struct {
	Type Type
	// Words are all that a value of type Words may be.
	Words []string
	// Least and Most bound a number; Above is a bound that it must be above. Nil: there is none.
	Least, Above, Most *float64
	// Pattern is what a text must match from end to end, "" for anything.
	Pattern string
	// Item is of the members of List and Named. Filled: there must be one. Of Named, Loose: a member may be without a
	// value; NoBlank: and none without a name.
	Item                         *Value
	Filled, PassThrough, NoBlank bool
	// Exact: of Words, not even a line end may stand behind them.
	Exact bool
	// Valued: wherever the key stands, there must be a value.
	Valued bool
	// Map is of type Inner.
	Map *Object
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

// Key is the key of that name. It panics if there is none: names of keys are written in the code.
func (m *Object) Key(name string) Field {
	i := slices.IndexFunc(m.Keys, func(k Field) bool { return k.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("dialect: %s has no key %s", m.Name, name))
	}
	return m.Keys[i]
}

// Words are the words of a key, those of its members for a list or map.
func (m *Object) Words(name string) []string { return m.Key(name).Holds.words() }

func (v Value) words() []string {
	switch v.Type {
	case Words:
		return slices.Clone(v.Words)
	case List, Named:
		return v.Item.words()
	case Forms:
		var all []string
		for _, f := range v.Forms {
			for _, w := range f.words() {
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
	least = 1
	most  = 1_000_000_000
)

func text() Value { return Value{Type: Text} }

// matching is a text of a form.
func matching(pattern, about string) Value { return Value{Type: Text, Pattern: pattern, About: about} }

func oneOf[W ~string](words ...W) Value {
	v := Value{Type: Words}
	for _, w := range words {
		v.Words = append(v.Words, string(w))
	}
	return v
}

// exactly are words that are compared as they stand.
func exactly[W ~string](words ...W) Value {
	v := oneOf(words...)
	v.Exact = true
	return v
}

func flag() Value { return Value{Type: Flag} }

func count() Value { return within(least, most) }

// within is a whole number.
func within(from, to float64) Value { return Value{Type: Whole, Least: &from, Most: &to} }

func positive() Value { return Value{Type: Number, Above: bound(0)} }

func bound(n float64) *float64 { return &n }

func seconds() Value {
	v := positive()
	v.About = "seconds, more than 0"
	return v
}

func listOf(item Value) Value { return Value{Type: List, Item: &item} }

// namesOf is a map whose keys are the author's; members without a value are left out.
func namesOf(item Value) Value { return Value{Type: Named, Item: &item, PassThrough: true} }

func in(m *Object) Value { return Value{Type: Inner, Map: m} }

func either(forms ...Value) Value { return Value{Type: Forms, Forms: forms} }

func anything() Value { return Value{Type: Any} }

// fieldPattern is the name of a field, or names with dots between them.
const fieldPattern = `([^.]+\.)*[^.]*[^.\n]`

func field() Value { return matching(fieldPattern, "a field, as `goal` or `overview.goals`") }

func fields() Value {
	v := listOf(field())
	v.About = "list of fields"
	return v
}

// somePattern is a text that says something.
const somePattern = `(.|\n)*[^\n](.|\n)*`

// filled is a list or map that must hold something.
func filled(v Value) Value {
	v.Filled = true
	return v
}

func valued(v Value) Value {
	v.Valued = true
	return v
}
