package sources

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// toolNamePattern matches the names of tools.
var toolNamePattern = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,128}$`)

// readArtifactSource returns the preferred source of the artifact; "" for the default order.
func readArtifactSource(m dialect.Map) string {
	source, at := m.Text("from")
	tool, isTool := strings.CutPrefix(source, plan.ToolPrefix)
	sources := dialect.Artifact.Choices("from")
	switch {
	case isTool && toolNamePattern.MatchString(tool):
		return source
	case isTool:
		m.Errorf(at.Pos, yamldoc.CodeChoice, "write tool:<name>, as in tool:submit", "%q names no tool", source)
	case at.Node != nil && !slices.Contains(sources, source):
		m.Errorf(at.Pos, yamldoc.CodeChoice, dialect.DidYouMean(source, sources)+", or tool:<name>", "unknown from %q", source)
	default:
		return source
	}
	return ""
}

// readHeal returns how often the agent is asked again for a bad artifact; nil if absent.
func readHeal(m dialect.Map) *int {
	n, at := m.AtLeast(0, "heal")
	switch {
	case at.Node == nil || !m.CheckWhole(n, at):
		return nil
	case n > plan.MaxHeal:
		m.Errorf(at.Pos, yamldoc.CodeRange, "", "heal must be at most %d, not %s", plan.MaxHeal, at.Source)
		return nil
	}
	times := int(n)
	return &times
}

// readMaxBytes returns the maximum size of the artifact; 0 if absent.
func readMaxBytes(m dialect.Map) int64 {
	text, at := m.Text("max_bytes")
	if at.Node == nil {
		return 0
	}
	n, err := sandboxpolicy.Bytes(text)
	switch {
	case err != nil || at.Kind == yamldoc.Bool:
		m.WrongType(at, "a number of bytes, with an optional K or M")
		return 0
	case n < 1 || n > plan.MaxMaxBytes:
		m.Errorf(at.Pos, yamldoc.CodeRange, "leave the key out for 10 MiB; write larger data to separate files", "max_bytes must be from 1 to 64M, not %s", at.Source)
		return 0
	}
	return n
}

// readFieldNames returns a list of field names, with dots between nested names; nil for none.
func readFieldNames(m dialect.Map, key string) []string {
	items, _ := m.List(key)
	var fields []string
	for _, item := range items {
		field, ok := readFieldName(m, item, "a field in "+key)
		switch {
		case !ok:
		case slices.Contains(fields, field):
			m.Warnf(item.Pos, yamldoc.CodeNoEffect, "remove it", "field %q is repeated in %s", field, key)
		default:
			fields = append(fields, field)
		}
	}
	return fields
}

// readFieldName returns the name of a field. ok is false if it is invalid; the fault is reported.
func readFieldName(m dialect.Map, n *yamldoc.Node, what string) (field string, ok bool) {
	if n.Kind == yamldoc.List || n.Kind == yamldoc.Map || n.Kind == yamldoc.Null {
		m.WrongItem(n, what, "text")
		return "", false
	}
	field = dialect.TrimNewlines(n.Source)
	if slices.Contains(strings.Split(field, "."), "") {
		m.Errorf(n.Pos, yamldoc.CodeChoice, "write its name, or names with dots between them, as in overview.goals", "%q is not a field name", field)
		return "", false
	}
	return field, true
}

// readDefaultsFrom returns the fields to fill when the node is skipped, each with its source field.
func readDefaultsFrom(m dialect.Map) map[string]string {
	inner, ok := m.MapAt("defaults_from")
	if !ok || len(inner.Node.Entries) == 0 {
		return nil
	}
	fields := map[string]string{}
	for _, e := range inner.Node.Entries {
		if source, ok := readFieldName(inner, e.Value, e.Key); ok {
			fields[e.Key] = source
		}
	}
	return fields
}
