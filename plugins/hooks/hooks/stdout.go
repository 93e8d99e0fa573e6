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

// stdout keeps what a command prints.
type stdout struct {
	text bytes.Buffer
	lost bool // it printed more than maxPrinted
}

func (s *stdout) line(b []byte) (final bool) {
	if s.lost = s.lost || s.text.Len()+len(b) > maxPrinted; !s.lost {
		s.text.Write(b)
	}
	return false
}

// shown is the text for people: the whole, or how long it is.
func (s *stdout) shown() string {
	if s.text.Len() > maxShown {
		return fmt.Sprintf("[the command printed %d bytes]", s.text.Len())
	}
	return s.text.String()
}

// object is the JSON object that was printed: the whole, else the last line that is not empty. wrong says why there is
// none.
func (s *stdout) object() (object json.RawMessage, wrong string) {
	whole := bytes.TrimSpace(s.text.Bytes())
	switch {
	case s.lost:
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
