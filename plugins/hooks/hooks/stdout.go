package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// Bounds of what a command prints to its standard output, in bytes.
const (
	maxPrinted = 64 << 20 // what is read of it: as much as an artifact may have
	maxShown   = 8 << 20  // what is told of it as text
)

// stdoutBuffer keeps what a command prints.
type stdoutBuffer struct {
	text     bytes.Buffer
	overflow bool // it printed more than maxPrinted
}

func (s *stdoutBuffer) addLine(b []byte) (final bool) {
	if s.overflow = s.overflow || s.text.Len()+len(b) > maxPrinted; !s.overflow {
		s.text.Write(b)
	}
	return false
}

// display is the text for people: the whole, or how long it is.
func (s *stdoutBuffer) display() string {
	if s.text.Len() > maxShown {
		return fmt.Sprintf("[the command printed %d bytes]", s.text.Len())
	}
	return s.text.String()
}

// parseObject is the JSON object that was printed: the whole, else the last line that is not empty. wrong says why there is
// none.
func (s *stdoutBuffer) parseObject() (object json.RawMessage, wrong string) {
	whole := bytes.TrimSpace(s.text.Bytes())
	switch {
	case s.overflow:
		return nil, fmt.Sprintf("printed more than %d bytes", maxPrinted)
	case len(whole) == 0:
		return nil, "ended well, but printed no outputs"
	}
	last := whole[bytes.LastIndexByte(whole, '\n')+1:]
	for _, text := range [][]byte{whole, last} {
		if text = bytes.TrimSpace(text); text[0] == '{' && json.Valid(text) {
			return text, ""
		}
	}
	return nil, fmt.Sprintf("ended well, but what it printed is no JSON object: %s", excerpt(last))
}

// maxExcerpt is how much of a line a message repeats, in bytes.
const maxExcerpt = 200

func excerpt(line []byte) string {
	text := firing.PlainText(line)
	if len(text) <= maxExcerpt {
		return text
	}
	return firing.PlainText([]byte(text[:maxExcerpt])) + "…"
}
