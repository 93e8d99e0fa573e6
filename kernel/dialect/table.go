package dialect

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Object describes one kind of map. It is immutable and safe for concurrent use.
type Object struct {
	// Name is its unique name in the schema and the reference.
	Name string
	// Doc is its description, one sentence.
	Doc string
	// Fields are in the order of the reference.
	Fields []Field
	// Unknown is the treatment of all other keys.
	Unknown UnknownKeys
	// KeyNoun names a key in the error of an unknown key; "" for "key".
	KeyNoun string
}

// UnknownKeys is the treatment of keys that a map does not define.
type UnknownKeys int

// Where unknown keys are ignored or refused, the prefix x- marks the author's own keys.
const (
	Ignored    UnknownKeys = iota // with a warning
	Refused                       // except those with the prefix x-
	RefusedAll                    // including those with the prefix x-
	PassedOn                      // to the plugin of the map
)

// Field is one key of a map.
type Field struct {
	Name string
	// Doc is its description, one line.
	Doc string
	// Value is the type of its value.
	Value Value
	// Default describes the default; "" if it needs no description.
	Default string
	// Required means that there must be a value.
	Required bool
	// Hint is the hint of faults; "" for the default hint.
	Hint string
	// After is the key of the same meaning that wins over this one; "" for none.
	After string
}

// Type is the type of a value.
type Type int

// A String accepts only text; a Text also accepts numbers and booleans.
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
	MapOf  // a map of the author's keys to Item
	Nested // an Object
	OneOf  // one of Forms
)

// Value describes the values of a key.
type Value struct {
	Type Type
	// Choices are the values of type Choice.
	Choices []string
	// Least and Most are inclusive bounds of a number; Above is an exclusive lower bound. Nil: no bound.
	Least, Above, Most *float64
	// Unit follows a bound in messages, as " seconds"; "" for none.
	Unit string
	// Pattern is a regular expression for the whole text; "" for any text. In messages Mismatch follows a text that
	// does not match the pattern; "": the caller checks the text.
	Pattern, Mismatch string
	// Item describes the members of List and MapOf. NonEmpty: there must be a member. PassThrough: a member of MapOf
	// may be without a value. NoEmptyKey: a key of MapOf must not be empty.
	Item                              *Value
	NonEmpty, PassThrough, NoEmptyKey bool
	// Noun names a member of List or MapOf in messages, as "a field". Unique: repeated items are left out with a
	// warning.
	Noun   string
	Unique bool
	// Exact means that a Choice must not have trailing newlines.
	Exact bool
	// NotNull means that the key must have a value wherever it is present.
	NotNull bool
	// Object is the map of type Nested.
	Object *Object
	// Forms are the alternatives of type OneOf.
	Forms []Value
	// About is the type's name in the reference; "" for the default name.
	About string
}

// Names returns the names of the keys.
func (m *Object) Names() []string {
	names := make([]string, len(m.Fields))
	for i, k := range m.Fields {
		names[i] = k.Name
	}
	return names
}

// Field returns the key of that name. It panics if there is none: the names are constants in the code.
func (m *Object) Field(name string) Field {
	i := slices.IndexFunc(m.Fields, func(k Field) bool { return k.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("dialect: %s has no key %s", m.Name, name))
	}
	return m.Fields[i]
}

// Choices returns the choices of a key; for a list or map those of its members.
func (m *Object) Choices(name string) []string { return m.Field(name).Value.choices() }

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

// These are the bounds of counts. A plan expresses "without limit" in other ways.
const (
	minCount = 1
	// MaxCount is the maximum of every count.
	MaxCount = 1_000_000_000
)

// AnyText describes a text of any content.
func AnyText() Value { return Value{Type: Text} }

// textMatching describes a text that matches a pattern.
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

// ExactChoice describes a choice that is compared without trimming newlines.
func ExactChoice[W ~string](words ...W) Value {
	v := choice(words...)
	v.Exact = true
	return v
}

func boolean() Value { return Value{Type: Boolean} }

func count() Value { return integer(minCount, MaxCount) }

// integer describes a whole number within bounds.
func integer(from, to float64) Value { return Value{Type: Integer, Least: &from, Most: &to} }

func positive() Value { return Value{Type: Number, Above: bound(0)} }

func bound(n float64) *float64 { return &n }

func seconds() Value {
	v := positive()
	v.About, v.Unit = "seconds, more than 0", " seconds"
	return v
}

// Sequence describes a list of items.
func Sequence(item Value) Value { return Value{Type: List, Item: &item} }

// namedSequence is [Sequence] with a name of the items for messages.
func namedSequence(noun string, item Value) Value { return Value{Type: List, Item: &item, Noun: noun} }

// MapTo describes a map with the author's keys, whose members may be without a value.
func MapTo(item Value) Value { return Value{Type: MapOf, Item: &item, PassThrough: true} }

// NestedObject describes a map with the keys that m defines.
func NestedObject(m *Object) Value { return Value{Type: Nested, Object: m} }

// AnyOf describes a value in one of several forms.
func AnyOf(forms ...Value) Value { return Value{Type: OneOf, Forms: forms} }

func anything() Value { return Value{Type: Any} }

// fieldPattern matches the name of a field, or names with dots between them.
const fieldPattern = `([^.]+\.)*[^.]*[^.\n]`

func fieldName() Value {
	v := textMatching(fieldPattern, "a field, as `goal` or `overview.goals`")
	v.Mismatch = "is not a field name"
	return v
}

const fieldHint = "write its name, or names with dots between them, as in overview.goals"

func fieldNames() Value {
	v := Sequence(fieldName())
	v.About, v.Noun, v.Unique = "list of fields", "a field", true
	return v
}

// nonEmptyPattern matches a text that is not blank.
const nonEmptyPattern = `(.|\n)*[^\n](.|\n)*`

// nonEmpty returns v, a list or map, with the rule that it must have a member.
func nonEmpty(v Value) Value {
	v.NonEmpty = true
	return v
}

func notNull(v Value) Value {
	v.NotNull = true
	return v
}

// limitChoice describes a choice of the actions at a limit.
func limitChoice() Value { return choice(plan.ToAbort, plan.ToFailed, plan.ToPause) }

// idText describes a name that becomes part of a directory name.
func idText() Value {
	return Value{Type: Text, Pattern: `[^/\\\x00-\x1f\x7f-\x{9f}]{0,128}`, About: "text without slashes, at most 128 bytes"}
}

func pause() Value {
	return Value{Type: Number, Least: bound(0), Unit: " seconds", About: "seconds, at least 0"}
}

func selectChoice() Value { return choice("all", "history", "latest") }
