package compile

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// toolNamePattern is what a tool may be called.
var toolNamePattern = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,128}$`)

// artifactSource is where the artifact is looked for first; "" for the default order.
func (m object) artifactSource() string {
	word, at := m.text("from")
	tool, isTool := strings.CutPrefix(word, plan.ToolPrefix)
	words := dialect.Artifact.Words("from")
	switch {
	case isTool && toolNamePattern.MatchString(tool):
		return word
	case isTool:
		m.Errorf(at.Pos, diagnostic.CodeWord, "write tool:<name>, as in tool:submit", "%q names no tool", word)
	case at.Node != nil && !slices.Contains(words, word):
		m.Errorf(at.Pos, diagnostic.CodeWord, didYouMean(word, words)+", or tool:<name>", "unknown from %q", word)
	default:
		return word
	}
	return ""
}

// artifactRetries is how often an agent is asked again for a bad artifact, nil if nothing is said.
func (m object) artifactRetries() *int {
	n, at := m.atLeast(0, "heal")
	switch {
	case at.Node == nil || !m.checkWhole(n, at):
		return nil
	case n > plan.MaxHeal:
		m.Errorf(at.Pos, diagnostic.CodeRange, "", "heal must be at most %d, not %s", plan.MaxHeal, at.Source)
		return nil
	}
	times := int(n)
	return &times
}

// maxBytes is the size of the largest artifact, 0 if nothing is said.
func (m object) maxBytes() int64 {
	text, at := m.text("max_bytes")
	if at.Node == nil {
		return 0
	}
	n, err := sandboxpolicy.Bytes(text)
	switch {
	case err != nil || at.Kind == yamldoc.Bool:
		m.wrongType(at, "a number of bytes, or one with K or M behind it")
		return 0
	case n < 1 || n > plan.MaxMaxBytes:
		m.Errorf(at.Pos, diagnostic.CodeRange, "leave the key out for 10 MiB; larger things are files of their own", "max_bytes must be from 1 to 64M, not %s", at.Source)
		return 0
	}
	return n
}

// fieldNames is a list of names of fields, parts of a path with dots between them; nil for none.
func (m object) fieldNames(key string) []string {
	items, _ := m.list(key)
	var fields []string
	for _, item := range items {
		field, ok := m.fieldName(item, "a field in "+key)
		switch {
		case !ok:
		case slices.Contains(fields, field):
			m.Warnf(item.Pos, diagnostic.CodeNoEffect, "remove it", "field %q stands twice in %s", field, key)
		default:
			fields = append(fields, field)
		}
	}
	return fields
}

// fieldName is the name of a field; ok is false, having said why, where there is none.
func (m object) fieldName(n *yamldoc.Node, what string) (field string, ok bool) {
	if n.Kind == yamldoc.List || n.Kind == yamldoc.Map || n.Kind == yamldoc.Null {
		m.wrongType(value{n, what}, "text")
		return "", false
	}
	field = trimNewlines(n.Source)
	if slices.Contains(strings.Split(field, "."), "") {
		m.Errorf(n.Pos, diagnostic.CodeWord, "write its name, or names with dots between them, as in overview.goals", "%q is no name of a field", field)
		return "", false
	}
	return field, true
}

// defaultsFrom are the fields that are filled when the node is skipped, each with the one that it is filled from.
func (m object) defaultsFrom() map[string]string {
	inner, ok := m.objectAt("defaults_from")
	if !ok || len(inner.node.Entries) == 0 {
		return nil
	}
	fields := map[string]string{}
	for _, e := range inner.node.Entries {
		if source, ok := inner.fieldName(e.Value, e.Key); ok {
			fields[e.Key] = source
		}
	}
	return fields
}
