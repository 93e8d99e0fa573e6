package inputs

import (
	"bytes"
	"encoding/json"
	"slices"
)

// List is a list of outputs with the text that it has in a file. A stage may have made a thousand
// iterations, and laying out that many lines anew for each further one would cost more than all else
// that is done for it.
type List struct {
	paths []string // absolute, oldest first
	text  []byte   // the paths in JSON, each on a new line, without indentation
}

// end is a length of a list.
type end struct{ paths, text int }

func (l *List) add(path string) {
	name, _ := json.Marshal(path) // a text always renders
	if len(l.paths) > 0 {
		l.text = append(l.text, ',')
	}
	l.text = append(append(l.text, '\n'), name...)
	l.paths = append(l.paths, path)
}

func (l *List) end() end { return end{len(l.paths), len(l.text)} }

// upTo is the beginning of the list. Adding to the list does not change it.
func (l *List) upTo(e end) List {
	return List{l.paths[:e.paths:e.paths], l.text[:e.text:e.text]}
}

// MarshalJSON writes [] for an empty list.
func (l List) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]string{}, l.paths...))
}

// fill puts the list into a document in which it is still empty, as the first member of that name at
// that indentation.
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
