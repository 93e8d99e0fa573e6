package inputs

import (
	"bytes"
	"encoding/json"
	"slices"
)

// List is a list of outputs with its rendered text. A stage may have a thousand iterations, and rendering that many
// lines again in each one would dominate its cost.
type List struct {
	paths []string // absolute, oldest first
	text  []byte   // the paths in JSON, each on a new line, without indentation
}

// listLength is the length of a list's prefix.
type listLength struct{ paths, text int }

func (l *List) add(path string) {
	name, _ := json.Marshal(path) // a string always marshals
	if len(l.paths) > 0 {
		l.text = append(l.text, ',')
	}
	l.text = append(append(l.text, '\n'), name...)
	l.paths = append(l.paths, path)
}

func (l *List) length() listLength { return listLength{len(l.paths), len(l.text)} }

// upTo returns a prefix of the list. Later additions do not change it.
func (l *List) upTo(e listLength) List {
	return List{l.paths[:e.paths:e.paths], l.text[:e.text:e.text]}
}

// MarshalJSON writes [] for an empty list.
func (l List) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]string{}, l.paths...))
}

// fill puts the list into a document whose first member with the name and the indentation is an empty list.
func (l List) fill(document []byte, indent, name string) []byte {
	key, _ := json.Marshal(name)
	opening := slices.Concat([]byte("\n"+indent), key, []byte(": ["))
	before, after, found := bytes.Cut(document, append(opening, ']'))
	if !found || len(l.text) == 0 {
		return document
	}
	lines := bytes.ReplaceAll(l.text, []byte{'\n'}, []byte("\n"+indent+"  "))
	return slices.Concat(before, opening, lines, []byte("\n"+indent+"]"), after)
}
