package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// Limits of a command's standard output, in bytes.
const (
	maxPrinted = 64 << 20 // the output that is read: the maximum size of an artifact
	maxShown   = 8 << 20  // the output that is returned as text
)

// display returns the output as text, or its length if it exceeds maxShown.
func display(printed *firing.HeadBuffer) string {
	if n := len(printed.Data); n > maxShown {
		return fmt.Sprintf("[the command printed %d bytes]", n)
	}
	return string(printed.Data)
}

// parseObject returns the JSON object in the output: the whole output, else its last non-empty line. problem is the
// reason if there is no object.
func parseObject(printed *firing.HeadBuffer) (object json.RawMessage, problem string) {
	whole := bytes.TrimSpace(printed.Data)
	switch {
	case printed.Dropped > 0:
		return nil, fmt.Sprintf("printed more than %d bytes", maxPrinted)
	case len(whole) == 0:
		return nil, "succeeded, but printed no outputs"
	}
	last := whole[bytes.LastIndexByte(whole, '\n')+1:]
	for _, text := range [][]byte{whole, last} {
		if text = bytes.TrimSpace(text); text[0] == '{' && json.Valid(text) {
			return text, ""
		}
	}
	return nil, fmt.Sprintf("succeeded, but its output is not a JSON object: %s", excerpt(last))
}

// maxExcerpt is the longest excerpt of a line in a message, in bytes.
const maxExcerpt = 200

func excerpt(line []byte) string {
	text := firing.PlainText(line)
	if len(text) <= maxExcerpt {
		return text
	}
	return firing.PlainText([]byte(text[:maxExcerpt])) + "…"
}
