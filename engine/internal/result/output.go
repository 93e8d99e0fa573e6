package result

import (
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// OutputLimit is the largest size of the cleaned text in bytes, without the notice.
const OutputLimit = 1 << 20

// truncationNotice is the last line of a text that was cut.
const truncationNotice = "[output truncated at 1MB]"

// maxRawOutput bounds the raw text of an OutputBuffer, in bytes: escape sequences may need as much as the text.
const maxRawOutput = 2*OutputLimit + 1

// OutputBuffer collects chunks up to a little more than twice [OutputLimit] and drops the rest. The zero value is ready.
// It is safe for concurrent use.
type OutputBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Add appends a chunk.
func (b *OutputBuffer) Add(chunk string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.WriteString(chunk[:min(len(chunk), maxRawOutput-b.text.Len())])
}

// Text returns the recorded text, unchanged.
func (b *OutputBuffer) Text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// CleanOutput returns the text for output.md and whether it was cut. The text is valid UTF-8 without escape sequences,
// cut at a line, and ends with one newline (REQUIREMENTS U098). Text that is empty, or nothing but newlines, gives "".
func CleanOutput(raw string) (text string, cut bool) {
	// The text is made valid UTF-8 before and after Strip: inside an escape sequence, Strip mistakes bytes of a
	// character for the end of the sequence.
	text = strings.ToValidUTF8(ansi.Strip(strings.ToValidUTF8(raw, "\uFFFD")), "")
	if len(text) > OutputLimit {
		text, cut = cutAtLine(text[:OutputLimit]), true
	}
	text = strings.TrimRight(text, "\n")
	if cut {
		return text + "\n" + truncationNotice + "\n", true
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
