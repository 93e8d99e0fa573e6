package capability

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// node is a JSON object with its members in the order of the text, which is the order in which the author
// of a schema wants them to be read.
type node []member

type member struct {
	name string
	raw  json.RawMessage
}

// object reads a JSON object; nil for everything else, also for one with a fault.
func object(raw json.RawMessage) node {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	n := node{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		n = append(n, member{name.(string), value}) //nolint:forcetypeassert // the names of an object are strings
	}
	return n
}

// get is the value of a member, nil if there is none.
func (n node) get(name string) json.RawMessage {
	for _, m := range n {
		if m.name == name {
			return m.raw
		}
	}
	return nil
}

// text is a member that is a string, "" if it is none.
func (n node) text(name string) string { return read[string](n.get(name)) }

// list is a member that is an array, nil if it is none.
func (n node) list(name string) []json.RawMessage { return read[[]json.RawMessage](n.get(name)) }

// read is the zero value for what has another type.
func read[T any](raw json.RawMessage) T {
	var value T
	if json.Unmarshal(raw, &value) != nil {
		var none T
		return none
	}
	return value
}

// schema is a JSON Schema with what its references lead to.
type schema struct{ root node }

// resolve returns a schema with its reference followed; members next to the reference win. References that lead out
// of the schema, to nothing or in a circle are left alone.
func (s schema) resolve(raw json.RawMessage) node {
	n := object(raw)
	const longest = 8
	for range longest {
		ref := n.text("$ref")
		if ref == "" {
			return n
		}
		own := node{}
		for _, m := range n {
			if m.name != "$ref" {
				own = append(own, m)
			}
		}
		n = slices.Concat(own, s.definition(ref))
	}
	return n
}

// definition returns the schema that a pointer within the schema (RFC 6901, behind "#/") names.
func (s schema) definition(ref string) node {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	n := s.root
	for name := range strings.SplitSeq(path, "/") {
		n = object(n.get(strings.NewReplacer("~1", "/", "~0", "~").Replace(name)))
	}
	return n
}
