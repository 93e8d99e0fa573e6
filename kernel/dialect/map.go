package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// FileStart is the location of faults of a whole file.
var FileStart = yamldoc.Pos{Line: 1, Column: 1}

// Location is a position in a document.
type Location struct {
	yamldoc.Document
	Pos yamldoc.Pos
}

// String returns file:line:column, or the name alone for a value of no file.
func (p Location) String() string {
	if p.Pos.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Pos.Line, p.Pos.Column)
}

// Errorf adds an error.
func (p Location) Errorf(code yamldoc.Code, hint, format string, args ...any) {
	p.Document.Errorf(p.Pos, code, hint, format, args...)
}

// Warnf adds a warning.
func (p Location) Warnf(code yamldoc.Code, hint, format string, args ...any) {
	p.Document.Warnf(p.Pos, code, hint, format, args...)
}

// Map reads the keys of one map and reports values of the wrong type. Null and empty text count as absent, as
// in the Bash engine.
type Map struct {
	yamldoc.Document
	Node  *yamldoc.Node
	Label string // name of the map in messages: "the file", "policy"
}

// Member is a value with its key.
type Member struct {
	*yamldoc.Node
	Key string
}

// Get returns the value of the first of the keys that has one. Node is nil if there is none.
func (m Map) Get(keys ...string) Member {
	for _, key := range keys {
		if n := m.Node.Get(key); n != nil && n.Kind != yamldoc.Null && (n.Kind != yamldoc.Text || n.Source != "") {
			return Member{n, key}
		}
	}
	return Member{}
}

// Has reports whether one of the keys has a value.
func (m Map) Has(keys ...string) bool { return m.Get(keys...).Node != nil }

// Location returns the location of v; that of the map if v has no node.
func (m Map) Location(v Member) Location {
	if v.Node == nil {
		return m.At(m.Node.Pos)
	}
	return m.At(v.Pos)
}

// Text returns the text of the first of the keys that has a value, without trailing newlines. Numbers and booleans
// count as text.
func (m Map) Text(keys ...string) (string, Member) {
	v := m.Get(keys...)
	switch {
	case v.Node == nil:
		return "", v
	case v.Kind == yamldoc.List || v.Kind == yamldoc.Map:
		m.WrongType(v, "text")
		return "", Member{}
	}
	text := TrimNewlines(v.Source)
	if text == "" {
		return "", Member{}
	}
	return text, v
}

// isBlank reports whether there is no value, or a text of newlines only.
func (v Member) isBlank() bool {
	return v.Node == nil || v.Kind == yamldoc.Text && TrimNewlines(v.Source) == ""
}

// IsSet reports whether one of the keys has a value that is not blank.
func (m Map) IsSet(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return !m.Get(key).isBlank() })
}

// TrimNewlines removes the trailing newlines that a block scalar leaves.
func TrimNewlines(source string) string { return strings.TrimRight(source, "\n") }

// MapAt returns a nested map. It returns false for no value, and reports a value of another type.
func (m Map) MapAt(key string) (Map, bool) {
	v := m.Get(key)
	switch {
	case v.Node == nil:
		return Map{}, false
	case v.Kind != yamldoc.Map:
		m.WrongType(v, "a map")
		return Map{}, false
	default:
		return Map{m.Document, v.Node, key}, true
	}
}

// List returns the values of a list. It returns false for no value, and reports a value of another type.
func (m Map) List(key string) ([]*yamldoc.Node, bool) {
	v := m.Get(key)
	switch {
	case v.Node == nil:
		return nil, false
	case v.Kind != yamldoc.List:
		m.WrongType(v, "a list")
		return nil, false
	default:
		return v.Items, true
	}
}

// WrongType reports a value of another type than want, which is a noun for the message.
func (m Map) WrongType(v Member, want string) {
	hint := ""
	if v.Kind == yamldoc.Map && want == "text" {
		hint = "put the text in quotes if it holds a colon or braces"
	}
	m.Errorf(v.Pos, yamldoc.CodeType, hint, "%s must be %s, not %s", v.Key, want, v.Kind)
}

// WarnUnknownKeys warns of keys that are not known. Keys with the prefix x- are the author's own.
func (m Map) WarnUnknownKeys(known []string) {
	for _, e := range m.Node.Entries {
		if !slices.Contains(known, e.Key) && !strings.HasPrefix(e.Key, "x-") {
			m.warnUnknownKey(e, known)
		}
	}
}

func (m Map) warnUnknownKey(e yamldoc.Entry, known []string) {
	hint := ""
	if near := nearest.Name(e.Key, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	m.Warnf(e.KeyPos, yamldoc.CodeUnknownKey, hint, "unknown key %q in %s is ignored", e.Key, m.Label)
}

// WarnUnused warns of keys that nothing reads.
func (m Map) WarnUnused(keys ...string) {
	for _, e := range m.Node.Entries {
		if slices.Contains(keys, e.Key) {
			m.Warnf(e.KeyPos, yamldoc.CodeNoEffect, "", "%s has no effect yet", e.Key)
		}
	}
}

// WarnIgnored warns of keys that have no effect on owner, which is a noun for messages.
func (m Map) WarnIgnored(keys []string, owner, hint string) {
	for _, e := range m.Node.Entries {
		if slices.Contains(keys, e.Key) && m.Has(e.Key) {
			m.Warnf(e.KeyPos, yamldoc.CodeNoEffect, hint, "%s has no effect on %s", e.Key, owner)
		}
	}
}

// RequiredText returns a text and reports a fault if the text is missing.
func (m Map) RequiredText(key string) string {
	text, at := m.Text(key)
	if v := m.Get(key); at.Node == nil && (v.Node == nil || v.Kind == yamldoc.Text) {
		m.Errorf(m.Node.Pos, yamldoc.CodeMissing, "add "+key+":", "%s has no %s", m.Label, key)
	}
	return text
}

// KeyPos returns the position of a key itself; the zero Pos if it is absent.
func (m Map) KeyPos(key string) yamldoc.Pos {
	for _, e := range m.Node.Entries {
		if e.Key == key {
			return e.KeyPos
		}
	}
	return yamldoc.Pos{}
}

// Boolean returns a boolean; false if absent. It reports a value of another type.
func (m Map) Boolean(key string) bool {
	v := m.Get(key)
	if v.Node == nil {
		return false
	}
	if v.Kind != yamldoc.Bool {
		m.WrongType(v, "true or false")
	}
	return v.Source == "true"
}

// Refuse reports a key that is not allowed here.
func (m Map) Refuse(key, hint, why string) {
	if m.Has(key) {
		m.Errorf(m.KeyPos(key), yamldoc.CodeConflict, hint, "%s cannot have %s: %s", m.Label, key, why)
	}
}

// PeekItems returns the items of a list without reporting faults; nil for none.
func (m Map) PeekItems(key string) []*yamldoc.Node {
	if n := m.Node.Get(key); n != nil {
		return n.Items
	}
	return nil
}

// Peek returns a nested map without reporting faults.
func (m Map) Peek(key string) (Map, bool) {
	if n := m.Node.Get(key); n != nil && n.Kind == yamldoc.Map {
		return Map{m.Document, n, key}, true
	}
	return Map{}, false
}

// RefuseKeys is [Map.Refuse] for several keys.
func (m Map) RefuseKeys(keys []string, hint, why string) {
	for _, key := range keys {
		m.Refuse(key, hint, why)
	}
}

// Source returns the text of a key as written; "" for none. It reports no faults: other readers do.
func (m Map) Source(key string) string {
	if v := m.Node.Get(key); v != nil {
		return v.Source
	}
	return ""
}

// NewMap returns the map n of a document. label is its name in messages.
func NewMap(d yamldoc.Document, n *yamldoc.Node, label string) Map {
	return Map{d, n, label}
}

// Nested returns a nested map of the same document.
func (m Map) Nested(n *yamldoc.Node, label string) Map { return NewMap(m.Document, n, label) }

// At returns a location in the document.
func (m Map) At(pos yamldoc.Pos) Location { return Location{m.Document, pos} }

// WrongItem reports the wrong type of a value without a key of its own. noun names it in the message.
func (m Map) WrongItem(n *yamldoc.Node, noun, want string) { m.WrongType(Member{n, noun}, want) }

// Parse returns the document's root map. It returns false and reports a fault if there is none.
func Parse(d yamldoc.Document, data []byte) (Map, bool) {
	root, ok := d.Parse(data)
	switch {
	case !ok:
	case root == nil:
		d.Errorf(FileStart, yamldoc.CodeRead, "", "the file is empty")
	case root.Kind != yamldoc.Map:
		d.Errorf(root.Pos, yamldoc.CodeType, "", "the file must hold a map, not %s", root.Kind)
	default:
		return Map{d, root, "the file"}, true
	}
	return Map{}, false
}
