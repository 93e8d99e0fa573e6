package compile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// mapping reads the keys of one map and reports values of the wrong type. Null and empty text count
// as absent, as they did for the Bash engine.
type mapping struct {
	document
	node *yamldoc.Node
	what string // names the map in messages: "the file", "policy"
}

// value is a value and the key that it was found under.
type value struct {
	*yamldoc.Node
	key string
}

// get returns the value of the first of the keys that has one. The Node is nil if there is none.
func (m mapping) get(keys ...string) value {
	for _, key := range keys {
		n := m.node.Get(key)
		if n != nil && n.Kind != yamldoc.Null && (n.Kind != yamldoc.Text || n.Source != "") {
			return value{n, key}
		}
	}
	return value{}
}

// has says whether one of the keys has a value.
func (m mapping) has(keys ...string) bool { return m.get(keys...).Node != nil }

// place is where v stands; the map itself if there is no v.
func (m mapping) place(v value) place {
	if v.Node == nil {
		return place{m.document, m.node.Pos}
	}
	return place{m.document, v.Pos}
}

// text returns the text of the first of the keys that has one, without trailing newlines. Numbers
// and booleans count as their text.
func (m mapping) text(keys ...string) (string, value) {
	v := m.get(keys...)
	switch {
	case v.Node == nil:
		return "", v
	case v.Kind == yamldoc.List || v.Kind == yamldoc.Map:
		m.wrongType(v, "text")
		return "", value{}
	}
	text := trimmed(v.Source)
	if text == "" {
		return "", value{}
	}
	return text, v
}

// blank reports whether there is no value, or a text of nothing but line ends.
func (v value) blank() bool {
	return v.Node == nil || v.Kind == yamldoc.Text && trimmed(v.Source) == ""
}

// says reports whether one of the keys has a value that is more than line ends.
func (m mapping) says(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return !m.get(key).blank() })
}

// trimmed is a text without trailing newlines, which a block scalar leaves.
func trimmed(source string) string { return strings.TrimRight(source, "\n") }

// number returns a number, which may be written as text, and whether there is one.
func (m mapping) number(key string) (float64, value) {
	v := m.get(key)
	if v.Node == nil {
		return 0, v
	}
	n, ok := numeric(v.Node)
	if !ok {
		m.wrongType(v, "a number")
		return 0, value{}
	}
	return n, v
}

// atLeast is number with a lower bound.
func (m mapping) atLeast(least float64, key string) (float64, value) {
	n, v := m.number(key)
	if v.Node != nil && n < least {
		m.Errorf(v.Pos, diagnostic.CodeRange, "", "%s must be at least %v, not %s", key, least, v.Source)
		return 0, value{}
	}
	return n, v
}

// count returns a whole number of at least 1, which may be written as text.
func (m mapping) count(key string) (int, value) {
	n, v := m.atLeast(1, key)
	if v.Node != nil && !m.whole(n, v) {
		return 0, value{}
	}
	return int(n), v
}

// maxCount bounds counts; above it a plan means "for ever", which has other words.
const maxCount = 1_000_000_000

func (m mapping) whole(n float64, v value) bool {
	if n != math.Trunc(n) || n > maxCount {
		m.Errorf(v.Pos, diagnostic.CodeRange, "", "%s must be a whole number up to %d, not %s", v.key, maxCount, v.Source)
		return false
	}
	return true
}

// mapping returns a nested map.
func (m mapping) mapping(key string) (mapping, bool) {
	v := m.get(key)
	switch {
	case v.Node == nil:
		return mapping{}, false
	case v.Kind != yamldoc.Map:
		m.wrongType(v, "a map")
		return mapping{}, false
	default:
		return mapping{m.document, v.Node, key}, true
	}
}

// list returns the values of a list.
func (m mapping) list(key string) ([]*yamldoc.Node, bool) {
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

// texts returns a map of texts.
func (m mapping) texts(key string) map[string]string {
	inner, ok := m.mapping(key)
	if !ok || len(inner.node.Entries) == 0 {
		return nil
	}
	texts := make(map[string]string, len(inner.node.Entries))
	for _, e := range inner.node.Entries {
		texts[e.Key], _ = inner.text(e.Key)
	}
	return texts
}

func (m mapping) wrongType(v value, want string) {
	hint := ""
	if v.Kind == yamldoc.Map && want == "text" {
		hint = "put the text in quotes if it holds a colon or braces"
	}
	m.Errorf(v.Pos, diagnostic.CodeType, hint, "%s must be %s, not %s", v.key, want, v.Kind)
}

// unknown warns of the keys that the dialect does not know in such a map. Keys that begin with x- are the
// author's own.
func (m mapping) unknown(of *dialect.Object) { m.warnUnknown(of.Names()) }

func (m mapping) warnUnknown(known []string) {
	for _, e := range m.node.Entries {
		if slices.Contains(known, e.Key) || strings.HasPrefix(e.Key, "x-") {
			continue
		}
		hint := ""
		if near := nearest.Name(e.Key, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		m.Warnf(e.KeyPos, diagnostic.CodeUnknownKey, hint, "unknown key %q in %s is ignored", e.Key, m.what)
	}
}

// noEffect warns of keys that are read by nobody.
func (m mapping) noEffect(keys ...string) {
	for _, e := range m.node.Entries {
		if slices.Contains(keys, e.Key) {
			m.Warnf(e.KeyPos, diagnostic.CodeNoEffect, "", "%s has no effect yet", e.Key)
		}
	}
}

// idle warns of keys that mean nothing to what, which they are written for.
func (m mapping) idle(keys []string, what, hint string) {
	for _, e := range m.node.Entries {
		if slices.Contains(keys, e.Key) && m.has(e.Key) {
			m.Warnf(e.KeyPos, diagnostic.CodeNoEffect, hint, "%s has no effect on %s", e.Key, what)
		}
	}
}

// numeric is the value of a number or of text that is one.
func numeric(n *yamldoc.Node) (float64, bool) {
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
