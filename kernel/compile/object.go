package compile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// object reads the keys of one map and reports values of the wrong type. Null and empty text count as absent, as
// in the Bash engine.
type object struct {
	yamldoc.Document
	node  *yamldoc.Node
	label string // name of the map in messages: "the file", "policy"
}

// value is a value with its key.
type value struct {
	*yamldoc.Node
	key string
}

// get returns the value of the first of the keys that has one. Node is nil if there is none.
func (m object) get(keys ...string) value {
	for _, key := range keys {
		n := m.node.Get(key)
		if n != nil && n.Kind != yamldoc.Null && (n.Kind != yamldoc.Text || n.Source != "") {
			return value{n, key}
		}
	}
	return value{}
}

// has reports whether one of the keys has a value.
func (m object) has(keys ...string) bool { return m.get(keys...).Node != nil }

// location returns the location of v; that of the map if v has no node.
func (m object) location(v value) location {
	if v.Node == nil {
		return m.at(m.node.Pos)
	}
	return m.at(v.Pos)
}

// text returns the text of the first of the keys that has a value, without trailing newlines. Numbers and booleans
// count as text.
func (m object) text(keys ...string) (string, value) {
	v := m.get(keys...)
	switch {
	case v.Node == nil:
		return "", v
	case v.Kind == yamldoc.List || v.Kind == yamldoc.Map:
		m.wrongType(v, "text")
		return "", value{}
	}
	text := trimNewlines(v.Source)
	if text == "" {
		return "", value{}
	}
	return text, v
}

// isBlank reports whether there is no value, or a text of newlines only.
func (v value) isBlank() bool {
	return v.Node == nil || v.Kind == yamldoc.Text && trimNewlines(v.Source) == ""
}

// isSet reports whether one of the keys has a value that is not blank.
func (m object) isSet(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return !m.get(key).isBlank() })
}

// trimNewlines removes the trailing newlines that a block scalar leaves.
func trimNewlines(source string) string { return strings.TrimRight(source, "\n") }

// number returns a number, which may be written as text. Node of the value is nil if there is none.
func (m object) number(key string) (float64, value) {
	v := m.get(key)
	if v.Node == nil {
		return 0, v
	}
	n, ok := parseNumber(v.Node)
	if !ok {
		m.wrongType(v, "a number")
		return 0, value{}
	}
	return n, v
}

// atLeast is [object.number] with a lower bound.
func (m object) atLeast(least float64, key string) (float64, value) {
	n, v := m.number(key)
	if v.Node != nil && n < least {
		m.Errorf(v.Pos, yamldoc.CodeRange, "", "%s must be at least %v, not %s", key, least, v.Source)
		return 0, value{}
	}
	return n, v
}

// count returns a whole number of at least 1, which may be written as text.
func (m object) count(key string) (int, value) {
	n, v := m.atLeast(1, key)
	if v.Node != nil && !m.checkWhole(n, v) {
		return 0, value{}
	}
	return int(n), v
}

// mostCount bounds counts. A plan expresses "without limit" in other ways.
const mostCount = 1_000_000_000

func (m object) checkWhole(n float64, v value) bool {
	if n != math.Trunc(n) || n > mostCount {
		m.Errorf(v.Pos, yamldoc.CodeRange, "", "%s must be a whole number up to %d, not %s", v.key, mostCount, v.Source)
		return false
	}
	return true
}

// objectAt returns a nested map.
func (m object) objectAt(key string) (object, bool) {
	v := m.get(key)
	switch {
	case v.Node == nil:
		return object{}, false
	case v.Kind != yamldoc.Map:
		m.wrongType(v, "a map")
		return object{}, false
	default:
		return object{m.Document, v.Node, key}, true
	}
}

// list returns the values of a list.
func (m object) list(key string) ([]*yamldoc.Node, bool) {
	v := m.get(key)
	switch {
	case v.Node == nil:
		return nil, false
	case v.Kind != yamldoc.List:
		m.wrongType(v, "a list")
		return nil, false
	default:
		return v.Items, true
	}
}

// texts returns a map of texts; nil if it is absent or empty.
func (m object) texts(key string) map[string]string {
	inner, ok := m.objectAt(key)
	if !ok || len(inner.node.Entries) == 0 {
		return nil
	}
	texts := make(map[string]string, len(inner.node.Entries))
	for _, e := range inner.node.Entries {
		texts[e.Key], _ = inner.text(e.Key)
	}
	return texts
}

func (m object) wrongType(v value, want string) {
	hint := ""
	if v.Kind == yamldoc.Map && want == "text" {
		hint = "put the text in quotes if it holds a colon or braces"
	}
	m.Errorf(v.Pos, yamldoc.CodeType, hint, "%s must be %s, not %s", v.key, want, v.Kind)
}

// checkKeys warns of keys that the dialect does not define for the map. Keys with the prefix x- are the author's
// own.
func (m object) checkKeys(of *dialect.Object) { m.warnUnknownKeys(of.Names()) }

func (m object) warnUnknownKeys(known []string) {
	for _, e := range m.node.Entries {
		if slices.Contains(known, e.Key) || strings.HasPrefix(e.Key, "x-") {
			continue
		}
		hint := ""
		if near := nearest.Name(e.Key, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		m.Warnf(e.KeyPos, yamldoc.CodeUnknownKey, hint, "unknown key %q in %s is ignored", e.Key, m.label)
	}
}

// warnUnused warns of keys that nothing reads.
func (m object) warnUnused(keys ...string) {
	for _, e := range m.node.Entries {
		if slices.Contains(keys, e.Key) {
			m.Warnf(e.KeyPos, yamldoc.CodeNoEffect, "", "%s has no effect yet", e.Key)
		}
	}
}

// warnIgnored warns of keys without effect on what.
func (m object) warnIgnored(keys []string, what, hint string) {
	for _, e := range m.node.Entries {
		if slices.Contains(keys, e.Key) && m.has(e.Key) {
			m.Warnf(e.KeyPos, yamldoc.CodeNoEffect, hint, "%s has no effect on %s", e.Key, what)
		}
	}
}

// parseNumber returns the value of a number, or of text that is a number.
func parseNumber(n *yamldoc.Node) (float64, bool) {
	switch v := n.Any().(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	default:
		return 0, false
	}
}

// requiredText returns a text that must be present.
func (m object) requiredText(key string) string {
	text, at := m.text(key)
	if v := m.get(key); at.Node == nil && (v.Node == nil || v.Kind == yamldoc.Text) {
		m.Errorf(m.node.Pos, yamldoc.CodeMissing, "add "+key+":", "%s has no %s", m.label, key)
	}
	return text
}

// keyPos returns the position of a key itself; the zero Pos if it is absent.
func (m object) keyPos(key string) yamldoc.Pos {
	for _, e := range m.node.Entries {
		if e.Key == key {
			return e.KeyPos
		}
	}
	return yamldoc.Pos{}
}

// boolean returns a boolean; false if absent.
func (m object) boolean(key string) bool {
	v := m.get(key)
	if v.Node == nil {
		return false
	}
	if v.Kind != yamldoc.Bool {
		m.wrongType(v, "true or false")
	}
	return v.Source == "true"
}

// refuse reports a key that is not allowed here.
func (m object) refuse(key, hint, why string) {
	if m.has(key) {
		m.Errorf(m.keyPos(key), yamldoc.CodeConflict, hint, "%s cannot have %s: %s", m.label, key, why)
	}
}

// atMost is [object.count] with an upper bound.
func (m object) atMost(most int, key string) (int, value) {
	n, at := m.count(key)
	if at.Node != nil && n > most {
		m.Errorf(at.Pos, yamldoc.CodeRange, "", "%s must be at most %d, not %s", key, most, at.Source)
		return 0, value{}
	}
	return n, at
}

// positive returns a number above 0; 0 if absent.
func (m object) positive(key string) float64 {
	n, at := m.number(key)
	if at.Node != nil && n <= 0 {
		m.Errorf(at.Pos, yamldoc.CodeRange, "leave the key out for no limit", "%s must be more than 0, not %s", key, at.Source)
		return 0
	}
	return n
}

// peek returns a nested map without reporting faults.
func (m object) peek(key string) (object, bool) {
	if n := m.node.Get(key); n != nil && n.Kind == yamldoc.Map {
		return object{m.Document, n, key}, true
	}
	return object{}, false
}

// seconds returns a duration above 0; 0 means no limit.
func (m object) seconds(key string) float64 { return m.secondsOr(key, "no limit") }

// secondsOr returns a duration above 0; 0 if absent. without names the effect of leaving it out, for the hint.
func (m object) secondsOr(key, without string) float64 {
	n, at := m.number(key)
	if at.Node != nil && n <= 0 {
		m.Errorf(at.Pos, yamldoc.CodeRange, "leave the key out for "+without, "%s must be more than 0 seconds, not %s", key, at.Source)
		return 0
	}
	return n
}

// oneOf returns a text that must be one of the dialect's choices for the key; "" if it is absent or another.
func oneOf[W ~string](m object, key string, schema *dialect.Object) W {
	choice, at := m.text(key)
	if known := schema.Choices(key); at.Node != nil && !slices.Contains(known, choice) {
		m.Errorf(at.Pos, yamldoc.CodeChoice, didYouMean(choice, known), "unknown %s %q", key, choice)
		return ""
	}
	return W(choice)
}

// refuseKeys is [object.refuse] for several keys.
func (m object) refuseKeys(keys []string, hint, why string) {
	for _, key := range keys {
		m.refuse(key, hint, why)
	}
}

// refuseUnknown reports unknown keys as errors: a typing error would change the data that is passed on.
func (m object) refuseUnknown(known []string) {
	for _, e := range m.node.Entries {
		if !slices.Contains(known, e.Key) && !strings.HasPrefix(e.Key, "x-") {
			m.Errorf(e.KeyPos, yamldoc.CodeUnknownKey, didYouMean(e.Key, known), "unknown key %q in %s", e.Key, m.label)
		}
	}
}

// source returns the text of a key as written; "" for none. It reports no faults: other readers do.
func (m object) source(key string) string {
	if v := m.node.Get(key); v != nil {
		return v.Source
	}
	return ""
}

// newObject returns the map n of a document. label is its name in messages.
func newObject(d yamldoc.Document, n *yamldoc.Node, label string) object {
	return object{d, n, label}
}

// nested returns a nested map of the same document.
func (m object) nested(n *yamldoc.Node, label string) object { return newObject(m.Document, n, label) }

// at returns a location in the document.
func (m object) at(pos yamldoc.Pos) location { return location{m.Document, pos} }

// wrongItem reports the wrong type of a value without a key of its own. what names it in the message.
func (m object) wrongItem(n *yamldoc.Node, what, want string) { m.wrongType(value{n, what}, want) }
