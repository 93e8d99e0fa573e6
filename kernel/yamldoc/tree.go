package yamldoc

import (
	"encoding/json"
	"fmt"
)

// Kind is the kind of a value.
type Kind int

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Map
)

// String returns the kind in error messages: "a list", "text".
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "text", "a list", "a map"}[k]
}

// Pos is a position in a file. Line and Column count from 1; Column counts characters, not bytes. The zero Pos
// means that there is no position.
type Pos struct {
	Line, Column int
}

// Node is one value of the tree. It is immutable after Parse. Each alias has its own copy of the anchored value.
type Node struct {
	Pos
	Kind Kind
	// Source is the text of a scalar without its quotes: "opus", "3", "true".
	Source string
	// Items are the values of a list.
	Items []*Node
	// Entries are the members of a map in the order of the file, merged ones last.
	Entries []Entry

	scalar any // nil, bool, int or float64 for Null, Bool and Number
}

// Entry is one member of a map.
type Entry struct {
	Key    string
	KeyPos Pos
	Value  *Node
}

// Get returns the value of a key, or nil if n is nil, is not a map or lacks the key.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// Any returns the value in the types of encoding/json: nil, bool, int, float64, string, []any, map[string]any. Numbers
// written as integers are int if they fit.
func (n *Node) Any() any {
	switch n.Kind {
	case Text:
		return n.Source
	case List:
		list := make([]any, 0, len(n.Items))
		for _, item := range n.Items {
			list = append(list, item.Any())
		}
		return list
	case Map:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key] = e.Value.Any()
		}
		return m
	default:
		return n.scalar
	}
}

// JSON returns the value as JSON. Every value of the tree can be encoded.
func (n *Node) JSON() json.RawMessage {
	data, err := json.Marshal(n.Any())
	if err != nil {
		panic(fmt.Sprintf("yamldoc: encode value: %v", err))
	}
	return data
}

// These bounds are far above any real pipeline and limit the cost of a hostile document.
const (
	MaxBytes  = 1 << 20 // size of the file
	MaxValues = 100_000 // values after the expansion of aliases
	MaxDepth  = 100     // levels of nesting
)
