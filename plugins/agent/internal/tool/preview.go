package tool

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// preview shows the effect of a write: the beginning of a new file, else a unified diff.
func (s *Set) preview(name string, before []byte, exists bool, after []byte) string {
	switch {
	case binary(before) || binary(after):
		return fmt.Sprintf("%s: binary, %d bytes instead of %d", name, len(after), len(before))
	case !exists:
		return fmt.Sprintf("new file %s, %d bytes\n\n%s", name, len(after), head(s.redactText(after), 2*sdk.MaxPreview))
	default:
		return s.diff(name, before, after)
	}
}

// diff returns the unified diff of two texts. Secrets are removed first: the diff's marks could hide them.
func (s *Set) diff(name string, before, after []byte) string {
	return udiff.Unified("a/"+name, "b/"+name, s.redactText(before), s.redactText(after))
}

func (s *Set) redactText(content []byte) string {
	return strings.Join(s.redactLines(strings.Split(text(content), "\n")), "\n")
}

// escapeControl replaces characters that control a terminal or change the direction of the text.
func escapeControl(shown string) string {
	var b strings.Builder
	for i, r := range shown {
		lineEnd := r == '\n' || r == '\r' && strings.HasPrefix(shown[i+1:], "\n")
		if !lineEnd && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			fmt.Fprintf(&b, "<%U>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
