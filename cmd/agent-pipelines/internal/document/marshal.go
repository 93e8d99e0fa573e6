package document

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Marshal renders a value whose type is one of [Shapes], in one line without a newline. The value's fields are
// between "schema", which names the shape, and "next_commands", the lines to type next; without any it is an empty
// list.
func Marshal(value any, next ...string) ([]byte, error) {
	s, ok := ShapeFor(value)
	if !ok || s.Bare() {
		return nil, fmt.Errorf("%T is no document", value)
	}
	fields, err := plain(value)
	if err != nil {
		return nil, err
	}
	head, err := plain(map[string]string{"schema": s.ID()})
	if err != nil {
		return nil, err
	}
	tail, err := plain(map[string][]string{"next_commands": append([]string{}, next...)})
	if err != nil {
		return nil, err
	}
	members := [][]byte{inner(head), inner(fields), inner(tail)}
	if len(members[1]) == 0 {
		members = [][]byte{members[0], members[2]}
	}
	return append(append([]byte{'{'}, bytes.Join(members, []byte{','})...), '}'), nil
}

// inner returns the text between the braces of an object.
func inner(object []byte) []byte { return object[1 : len(object)-1] }

// plain is JSON in which <, > and & stand for themselves.
func plain(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
