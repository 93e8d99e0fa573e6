package output

import (
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// Limit is the largest size of the cleaned text in bytes, without the notice.
const Limit = 1 << 20

// Notice is the last line of a text that was cut.
const Notice = "[output truncated at 1MB]"

// maxText bounds the raw text of a Buffer, in bytes: escape sequences may need as much as the text.
const maxText = 2*Limit + 1

// Buffer collects chunks up to a little more than twice [Limit] and drops the rest. The zero value is ready. It is safe
// for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Add appends a chunk.
func (b *Buffer) Add(chunk string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.WriteString(chunk[:min(len(chunk), maxText-b.text.Len())])
}

// Text returns the recorded text, unchanged.
func (b *Buffer) Text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Clean returns the text for output.md and whether it was cut. Text that is empty, or nothing but
// newlines, gives "".
func Clean(raw string) (text string, cut bool) {
	// The text is made valid UTF-8 before and after Strip: inside an escape sequence, Strip mistakes bytes of a
	// character for the end of the sequence.
	text = strings.ToValidUTF8(ansi.Strip(strings.ToValidUTF8(raw, "\uFFFD")), "")
	if len(text) > Limit {
		text, cut = cutAtLine(text[:Limit]), true
	}
	text = strings.TrimRight(text, "\n")
	if cut {
		return text + "\n" + Notice + "\n", true
	}
	if text == "" {
		return "", false
	}
	return text + "\n", false
}

// cutAtLine drops the last, unfinished line; a single line longer than the limit is cut between
// characters.
func cutAtLine(text string) string {
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		return text[:i]
	}
	return strings.ToValidUTF8(text, "")
}
