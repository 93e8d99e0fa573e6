package tool

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// previewOf shows a person what a write would do: the beginning of a new file, else a unified diff.
func (s *Set) previewOf(name string, before []byte, exists bool, after []byte) string {
	switch {
	case binary(before) || binary(after):
		return fmt.Sprintf("%s: binary, %d bytes instead of %d", name, len(after), len(before))
	case !exists:
		return fmt.Sprintf("new file %s, %d bytes\n\n%s", name, len(after), head(s.plainText(after), 2*sdk.MaxPreview))
	default:
		return s.diff(name, before, after)
	}
}

// diff is the unified diff of two texts, both without secrets: behind the signs of a diff some would not be known.
func (s *Set) diff(name string, before, after []byte) string {
	return udiff.Unified("a/"+name, "b/"+name, s.plainText(before), s.plainText(after))
}

func (s *Set) plainText(content []byte) string {
	return strings.Join(s.plainLines(strings.Split(text(content), "\n")), "\n")
}

// visible makes characters visible that a terminal would obey, or that change how what stands around them looks.
func visible(shown string) string {
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
