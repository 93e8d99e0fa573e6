package tool

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// previewOf shows a person what a write would do: the beginning of a new file, else a unified diff.
func previewOf(name string, before []byte, exists bool, after []byte) string {
	switch {
	case binary(before) || binary(after):
		return fmt.Sprintf("%s: binary, %d bytes instead of %d", name, len(after), len(before))
	case !exists:
		return fmt.Sprintf("new file %s, %d bytes\n\n%s", name, len(after), head(text(after), sdk.MaxPreview))
	default:
		return diff(name, text(before), text(after))
	}
}

// diff is the unified diff of two texts.
func diff(name, before, after string) string {
	return udiff.Unified("a/"+name, "b/"+name, before, after)
}
