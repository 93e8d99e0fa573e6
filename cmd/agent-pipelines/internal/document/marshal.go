package document

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Marshal renders a value whose type is one of [Shapes], in one line without a newline. The value's fields are
// between "schema", which names the shape, and "next_commands", the lines to type next: an empty list if there are
// none.
func Marshal(value any, next ...string) ([]byte, error) {
	s, ok := ShapeFor(value)
	if !ok || s.Bare() {
		return nil, fmt.Errorf("%T is not a document", value)
	}
	fields, err := plain(value)
	if err != nil {
		return nil, err
	}
	tail, err := plain(append([]string{}, next...))
	if err != nil {
		return nil, err
	}
	members := fields[1 : len(fields)-1] // without braces
	if len(members) > 0 {
		members = append([]byte{','}, members...)
	}
	return fmt.Appendf(nil, `{"schema":%q%s,"next_commands":%s}`, s.ID(), members, tail), nil
}

// plain returns JSON in which <, > and & are not escaped.
func plain(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
