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

// toolNamePattern matches the names of tools, which have at most maxToolName bytes.
var toolNamePattern = regexp.MustCompile(`^[A-Za-z0-9_.:/-]+$`)

const maxToolName = 128

// readArtifactSource returns the preferred source of the artifact; "" for the default order.
func readArtifactSource(m dialect.Map) string {
	source, at := m.Text("from")
	tool, isTool := strings.CutPrefix(source, plan.ToolPrefix)
	sources := dialect.Artifact.Choices("from")
	switch {
	case isTool && len(tool) <= maxToolName && toolNamePattern.MatchString(tool):
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

// readMaxBytes returns the maximum size of the artifact in bytes, 0 if absent.
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
